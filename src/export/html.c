/* html.c: the report as one file: the web page (src/assets) with its program, its style and the report inside.
 *
 * The page finds the report in itself and asks nobody (docs/UI.md); its policy allows nothing else. JSON is written
 * with `<` escaped, so that no name ends the element that it stands in.
 */
#include <errno.h>
#include <string.h>

#include "assets/assets.h"
#include "export/format.h"
#include "util/error.h"
#include "util/json.h"

#define STYLE "<link rel=\"stylesheet\" href=\"app.css\">"
#define PROGRAM "<script src=\"app.js\" defer></script>"
#define POLICY                                                                                                    \
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; " \
	"style-src 'unsafe-inline'\">\n"

static const struct sonde_asset *asset_of(const char *path)
{
	for (size_t i = 0; i < sonde_asset_count; i++)
		if (strcmp(sonde_assets[i].path, path) == 0)
			return &sonde_assets[i];
	return NULL;
}

/* What `sonde view` answers at /api/recording, as far as a report knows it. */
static void put_recording(const struct sonde_report *report, FILE *out)
{
	struct sonde_json json;
	sonde_json_init(&json, out, 0);
	sonde_json_object(&json);
	sonde_json_put_uint(&json, "version", 1);
	sonde_json_put_text(&json, "file", report->path);
	sonde_json_put_text(&json, "command", report->title);
	sonde_json_put_uint(&json, "duration_ns", report->duration_ns);
	sonde_json_key(&json, "processes");
	sonde_json_array(&json);
	sonde_json_end(&json);
	sonde_json_key(&json, "threads");
	sonde_json_array(&json);
	sonde_json_end(&json);
	sonde_json_key(&json, "sections");
	sonde_json_array(&json);
	for (const struct sonde_section *section = report->first; section; section = section->next)
		sonde_json_text(&json, section->id);
	sonde_json_end(&json);
	sonde_json_end(&json);
}

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	const struct sonde_asset *page = asset_of("/"), *program = asset_of("/app.js"), *style = asset_of("/app.css");
	const char *text = page ? (const char *)page->data : "";
	const char *at_style = strstr(text, STYLE), *at_program = strstr(text, PROGRAM);
	if (!program || !program->size_b || !style || !at_style || !at_program || at_program < at_style ||
	    strstr((const char *)program->data, "</script"))
		return sonde_error(ENOTSUP, "this build has no web page: it was made without npm, or without a network "
					    "(meson's -Dweb=enabled says why)");
	fwrite(text, 1, (size_t)(at_style - text), out);
	fputs(POLICY "<style>", out);
	fwrite(style->data, 1, style->size_b, out);
	fputs("</style>", out);
	at_style += strlen(STYLE);
	fwrite(at_style, 1, (size_t)(at_program - at_style), out);
	fputs("<script type=\"application/json\" id=\"sonde-data\">{\"recording\": ", out);
	put_recording(report, out);
	fputs(", \"report\": ", out);
	int error = sonde_format_find("json")->render(report, options, out);
	fputs("}</script>\n<script>", out);
	fwrite(program->data, 1, program->size_b, out);
	fputs("</script>", out);
	fputs(at_program + strlen(PROGRAM), out);
	return error;
}

const struct sonde_format sonde_format_html = {
    .name = "html",
    .extension = ".html",
    .title = "one file for a browser: the page of sonde view with everything in it",
    .section = SONDE_FORMAT_ALL,
    .render = render,
};
