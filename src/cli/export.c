/* export.c: `sonde export`: a recording in the format of another tool, in a file named like it. */
#include "cli/common/present.h"

static int run(int argc, char **argv)
{
	struct sonde_present present = {.command = "export", .beside = 1};
	struct sonde_parse parse = {
	    .command = sonde_command_find("export"), .found = sonde_present_take, .context = &present};
	int code = sonde_command_parse(&parse, argc, argv);
	return code || parse.done ? code : sonde_present_run(&present);
}

const struct sonde_command sonde_command_export = {
    .name = "export",
    .title = "write a recording in the format of another tool",
    .usage = "-f FORMAT [options] [FILE]",
    .options = sonde_present_options,
    .examples = "sonde export -f chrome app.sonde      writes app.trace.json here\n"
		"sonde export -o app.pb.gz app.sonde\n"
		"sonde export -f folded -o - app.sonde | head\n"
		"sonde export --weigh allocated -o heap.pb.gz app.sonde\n",
    .run = run,
};
