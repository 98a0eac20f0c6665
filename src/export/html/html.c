/* html.c: the report as one file: the web page (src/assets) with its script, its style, the report and the timeline
 * embedded.
 *
 * The page finds the report in itself and makes no requests (docs/UI.md); its content security policy allows nothing
 * else. JSON is written with `<` escaped, so that no name can end the enclosing element; a large document is compressed
 * instead. The timeline gets the rest of the requested size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assets/assets.h"
#include "export/html/base64.h"
#include "export/format.h"
#include "export/gzip.h"
#include "export/html/lanes.h"
#include "util/error.h"
#include "util/json.h"

#define STYLE "<link rel=\"stylesheet\" href=\"app.css\">"
#define PROGRAM "<script src=\"app.js\" defer></script>"
#define POLICY                                                                                                    \
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; " \
	"style-src 'unsafe-inline'\">\n"

enum { PLAIN_MAX_B = 256 << 10, LANES_MAX_B = 1 << 30 };

static const struct sonde_asset *asset_of(const char *path)
{
	for (size_t i = 0; i < sonde_asset_count; i++)
		if (strcmp(sonde_assets[i].path, path) == 0)
			return &sonde_assets[i];
	return NULL;
}

/* --- data for the page -------------------------------------------------------------------------------------------- */

static void put_people(struct sonde_json *json, const struct sonde_session *session)
{
	uint64_t start_ns = session ? sonde_session_run(session)->start_ns : 0;
	sonde_json_put_array(json, "processes");
	for (uint32_t id = 1; session && id <= sonde_session_process_count(session); id++) {
		const struct sonde_process *process = sonde_session_process(session, id);
		sonde_json_object(json);
		sonde_json_put_uint(json, "id", id);
		sonde_json_put_uint(json, "pid", process->pid);
		sonde_json_put_text(json, "name", process->name);
		sonde_json_end(json);
	}
	sonde_json_end(json);
	sonde_json_put_array(json, "threads");
	for (uint32_t id = 1; session && id <= sonde_session_thread_count(session); id++) {
		const struct sonde_thread *thread = sonde_session_thread(session, id);
		sonde_json_object(json);
		sonde_json_put_uint(json, "id", id);
		sonde_json_put_uint(json, "process", thread->process);
		sonde_json_put_uint(json, "tid", thread->tid);
		sonde_json_put_text(json, "name", thread->name);
		sonde_json_put_uint(json, "start_ns", thread->start_ns > start_ns ? thread->start_ns - start_ns : 0);
		sonde_json_put_known(json, "end_ns", thread->end_ns > start_ns, thread->end_ns - start_ns);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

/* The answer of `sonde view` at /api/recording, as far as a report contains it. */
static void put_recording(const struct sonde_report *report, const struct sonde_session *session, int has_lanes,
			  FILE *out)
{
	struct sonde_json json;
	sonde_json_init(&json, out, 0);
	sonde_json_object(&json);
	sonde_json_put_uint(&json, "version", 1);
	sonde_json_put_text(&json, "file", report->path);
	sonde_json_put_text(&json, "command", report->title);
	sonde_json_put_uint(&json, "duration_ns", report->duration_ns);
	put_people(&json, session);
	sonde_json_put_array(&json, "sections");
	for (const struct sonde_section *section = report->first; section; section = section->next)
		sonde_json_text(&json, section->id);
	sonde_json_end(&json);
	sonde_json_put_bool(&json, "timeline", has_lanes);
	sonde_json_end(&json);
}

static int put_packed(const char *id, const void *data, size_t size_b, FILE *out)
{
	fprintf(out, "<script type=\"text/plain\" id=\"%s\">", id);
	sonde_base64_write(data, size_b, out);
	fputs("</script>\n", out);
	return 0;
}

/* Compresses large data. */
static int put_data(const char *text, size_t text_b, FILE *out)
{
	struct sonde_gzip *gzip;
	char *packed = NULL;
	size_t packed_b = 0;
	if (text_b <= PLAIN_MAX_B) {
		fputs("<script type=\"application/json\" id=\"sonde-data\">", out);
		fwrite(text, 1, text_b, out);
		fputs("</script>\n", out);
		return 0;
	}
	FILE *stream = open_memstream(&packed, &packed_b);
	int rc = stream ? sonde_gzip_open(&gzip, stream) : sonde_error(ENOMEM, "out of memory for a report");
	if (!rc) {
		rc = sonde_gzip_write(gzip, text, text_b);
		int closing = sonde_gzip_close(gzip);
		rc = rc ? rc : closing;
	}
	if (stream && fclose(stream) && !rc)
		rc = sonde_error(ENOMEM, "out of memory for a report");
	rc = rc ? rc : put_packed("sonde-data-gzip", packed, packed_b, out);
	free(packed);
	return rc;
}

/* The recording and the report; the caller frees `out`. */
static int make_data(const struct sonde_report *report, const struct sonde_format_options *options, char **out,
		     size_t *out_b)
{
	int has_lanes = options->session && sonde_session_run(options->session)->end_ns;
	FILE *stream = open_memstream(out, out_b);
	if (!stream)
		return sonde_error(ENOMEM, "out of memory for a report");
	fputs("{\"recording\": ", stream);
	put_recording(report, options->session, has_lanes, stream);
	fputs(", \"report\": ", stream);
	int rc = sonde_format_find("json")->render(report, options, stream);
	fputs("}", stream);
	return fclose(stream) && !rc ? sonde_error(ENOMEM, "out of memory for a report") : rc;
}

/* Writes the report, then the timeline in the remaining space. */
static int put_inside(const struct sonde_report *report, const struct sonde_format_options *options, uint64_t used_b,
		      FILE *out)
{
	uint64_t most_b = options->most_b ? options->most_b : SONDE_FORMAT_MOST_B;
	struct sonde_buf lanes;
	char *text = NULL;
	size_t text_b = 0;
	int rc = make_data(report, options, &text, &text_b);
	used_b += text_b <= PLAIN_MAX_B ? text_b : text_b / 8; /* approximate size of compressed JSON */
	rc = rc ? rc : put_data(text, text_b, out);
	free(text);
	if (rc || !options->session)
		return rc;
	sonde_buf_init(&lanes, LANES_MAX_B);
	rc = sonde_html_lanes(options->session, most_b > used_b ? most_b - used_b : 0, &lanes);
	if (!rc)
		put_packed("sonde-lanes", lanes.data, lanes.len_b, out);
	sonde_buf_fini(&lanes);
	return rc;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	const struct sonde_asset *page = asset_of("/"), *program = asset_of("/app.js"), *style = asset_of("/app.css");
	const char *text = page ? (const char *)page->data : "";
	const char *at_style = strstr(text, STYLE), *at_program = strstr(text, PROGRAM);
	if (!program || !program->size_b || !style || !at_style || !at_program || at_program < at_style ||
	    strstr((const char *)program->data, "</script"))
		return sonde_error(ENOTSUP, "this build has no web page: it was built without npm or network access "
					    "(meson's -Dweb=enabled says why)");
	fwrite(text, 1, (size_t)(at_style - text), out);
	fputs(POLICY "<style>", out);
	fwrite(style->data, 1, style->size_b, out);
	fputs("</style>", out);
	at_style += strlen(STYLE);
	fwrite(at_style, 1, (size_t)(at_program - at_style), out);
	int rc = put_inside(report, options, page->size_b + program->size_b + style->size_b, out);
	fputs("<script>", out);
	fwrite(program->data, 1, program->size_b, out);
	fputs("</script>", out);
	fputs(at_program + strlen(PROGRAM), out);
	return rc;
}

const struct sonde_format sonde_format_html = {
    .name = "html",
    .extension = ".html",
    .title = "the page of sonde view in one file",
    .section = SONDE_FORMAT_ALL,
    .render = render,
};
