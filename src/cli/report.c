/* report.c: `sonde report`: what a recording says, on the terminal or in any format. */
#include "cli/common/present.h"

static int run(int argc, char **argv)
{
	struct sonde_present present = {.command = "report"};
	struct sonde_parse parse = {
	    .command = sonde_command_find("report"), .found = sonde_present_take, .context = &present};
	int code = sonde_command_parse(&parse, argc, argv);
	return code || parse.done ? code : sonde_present_run(&present);
}

const struct sonde_command sonde_command_report = {
    .name = "report",
    .title = "show what a recording says",
    .usage = "[options] [FILE]",
    .options = sonde_present_options,
    .examples = "sonde report                          the newest recording here\n"
		"sonde report --section functions -n 50 app.sonde\n"
		"sonde report -f svg -o flame.svg app.sonde\n"
		"sonde report -f svg --weigh peak -o heap.svg app.sonde\n"
		"sonde report --plot memory -o memory.png app.sonde\n",
    .run = run,
};
