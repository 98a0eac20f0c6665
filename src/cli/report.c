/* report.c: `sonde report`: shows a recording's figures on the terminal or in any format. */
#include "cli/common/rendering.h"

static int run(int argc, char **argv)
{
	struct sonde_rendering rendering = {.command = "report"};
	struct sonde_parse parse = {
	    .command = sonde_command_find("report"), .found = sonde_rendering_take, .context = &rendering};
	int code = sonde_command_parse(&parse, argc, argv);
	return code || parse.done ? code : sonde_rendering_run(&rendering);
}

const struct sonde_command sonde_command_report = {
    .name = "report",
    .title = "print a report on a recording",
    .usage = "[options] [FILE]",
    .options = sonde_rendering_options,
    .examples = "sonde report                          the newest recording here\nsonde report --section functions -n "
		"50 app.sonde\nsonde report -f svg -o flame.svg app.sonde\nsonde report -f svg --metric peak -o "
		"heap.svg app.sonde\nsonde report --plot memory -o memory.png app.sonde\n",
    .run = run,
};
