/* export.c: `sonde export`: converts a recording to another tool's format, in a file named like the recording. */
#include "cli/common/rendering.h"

static int run(int argc, char **argv)
{
	struct sonde_rendering rendering = {.command = "export", .is_named_like_recording = 1};
	struct sonde_parse parse = {
	    .command = sonde_command_find("export"), .found = sonde_rendering_take, .context = &rendering};
	int code = sonde_command_parse(&parse, argc, argv);
	return code || parse.done ? code : sonde_rendering_run(&rendering);
}

const struct sonde_command sonde_command_export = {
    .name = "export",
    .title = "convert a recording to another tool's format",
    .usage = "-f FORMAT [options] [FILE]",
    .options = sonde_rendering_options,
    .examples =
	"sonde export -f chrome app.sonde      writes app.trace.json here\nsonde export -o app.pb.gz app.sonde\nsonde "
	"export -f folded -o - app.sonde | head\nsonde export --metric allocated -o heap.pb.gz app.sonde\n",
    .run = run,
};
