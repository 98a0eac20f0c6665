/* completion.c: `sonde completion SHELL`: completion scripts generated from the tables of commands and options.
 *
 * The scripts are whole: they never call sonde. For an option's value, the values in the option's table are offered
 * (common/choices.c), or files if there is no table.
 */
#include <stdio.h>
#include <string.h>

#include "cli/common/choices.h"
#include "cli/common/command.h"

static int has_value(const struct sonde_option *option)
{
	return option->argument && *option->argument != '[';
}

/* --- bash ------------------------------------------------------------------------------------------------------- */

static void bash_values(const struct sonde_command *command)
{
	struct sonde_option_walk options = {.at = command->options};
	for (const struct sonde_option *option; (option = sonde_option_next(&options));) {
		if (!has_value(option) || !option->help)
			continue;
		printf("\t%s:--%s", command->name, option->name);
		if (option->letter)
			printf("|%s:-%c", command->name, option->letter);
		printf(") COMPREPLY=(");
		if (sonde_choices_known(option->argument)) {
			printf("$(compgen -W '");
			sonde_choices_print(stdout, option->argument, " ");
			printf("' -- \"$word\")");
		} else {
			printf("$(compgen -f -- \"$word\")");
		}
		printf("); return ;;\n");
	}
}

static void bash_options(const struct sonde_command *command)
{
	printf("\t%s) options='--help", command->name);
	struct sonde_option_walk options = {.at = command->options};
	for (const struct sonde_option *option; (option = sonde_option_next(&options));)
		if (option->help)
			printf(" --%s", option->name);
	printf("' ;;\n");
}

static void write_bash(void)
{
	printf("# bash completion for sonde; made by 'sonde completion bash'\n_sonde()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '");
	for (size_t i = 0; i < sonde_command_count; i++)
		if (sonde_commands[i]->title)
			printf("%s ", sonde_commands[i]->name);
	printf("--help --version' -- \"$word\"))\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]}:$before in\n");
	for (size_t i = 0; i < sonde_command_count; i++)
		if (sonde_commands[i]->title)
			bash_values(sonde_commands[i]);
	printf("\tesac\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < sonde_command_count; i++)
		if (sonde_commands[i]->title)
			bash_options(sonde_commands[i]);
	printf("\tesac\n"
	       "\tcase $word in\n"
	       "\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
	       "\t*) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
	       "\tesac\n}\ncomplete -o filenames -F _sonde sonde\n");
}

/* --- zsh -------------------------------------------------------------------------------------------------------- */

/* Escapes text inside single quotes and brackets. */
static void zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("'\\''");
		else if (strchr("[]:\\", *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void zsh_spec(const struct sonde_option *option, const char *dashes, const char *name)
{
	printf("\t\t\t'*%s%s%s[", dashes, name, has_value(option) && dashes[1] ? "=" : "");
	zsh_text(option->help);
	printf("]");
	if (has_value(option)) {
		printf(":%s:", option->argument);
		if (sonde_choices_known(option->argument)) {
			printf("(");
			sonde_choices_print(stdout, option->argument, " ");
			printf(")");
		} else {
			printf("_files");
		}
	}
	printf("' \\\n");
}

static void zsh_command(const struct sonde_command *command)
{
	printf("\t%s)\n\t\t_arguments \\\n", command->name);
	struct sonde_option_walk options = {.at = command->options};
	for (const struct sonde_option *option; (option = sonde_option_next(&options));) {
		if (!option->help)
			continue;
		zsh_spec(option, "--", option->name);
		if (option->letter)
			zsh_spec(option, "-", (char[]){option->letter, '\0'});
	}
	printf("\t\t\t'--help[this text]' '*:file:_files' ;;\n");
}

static void write_zsh(void)
{
	printf("#compdef sonde\n# zsh completion for sonde; made by 'sonde completion zsh'\n_sonde()\n{\n"
	       "\tif (( CURRENT == 2 )); then\n\t\tlocal -a commands=(\n");
	for (size_t i = 0; i < sonde_command_count; i++) {
		if (!sonde_commands[i]->title)
			continue;
		printf("\t\t\t'%s:", sonde_commands[i]->name);
		zsh_text(sonde_commands[i]->title);
		printf("'\n");
	}
	printf("\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	       "\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $command in\n");
	for (size_t i = 0; i < sonde_command_count; i++)
		if (sonde_commands[i]->title)
			zsh_command(sonde_commands[i]);
	printf("\tesac\n}\nif [ \"$funcstack[1]\" = _sonde ]; then _sonde \"$@\"; else compdef _sonde sonde; fi\n");
}

/* --- fish ------------------------------------------------------------------------------------------------------- */

static void fish_text(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void fish_option(const struct sonde_command *command, const struct sonde_option *option)
{
	printf("complete -c sonde -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
	if (option->letter)
		printf(" -s %c", option->letter);
	if (has_value(option))
		printf(" -r");
	if (has_value(option) && sonde_choices_known(option->argument)) {
		printf(" -f -a '");
		sonde_choices_print(stdout, option->argument, " ");
		printf("'");
	}
	printf(" -d ");
	fish_text(option->help);
	putchar('\n');
}

static void write_fish(void)
{
	printf("# fish completion for sonde; made by 'sonde completion fish'\n");
	for (size_t i = 0; i < sonde_command_count; i++) {
		const struct sonde_command *command = sonde_commands[i];
		if (!command->title)
			continue;
		printf("complete -c sonde -n __fish_use_subcommand -f -a %s -d ", command->name);
		fish_text(command->title);
		putchar('\n');
		struct sonde_option_walk options = {.at = command->options};
		for (const struct sonde_option *option; (option = sonde_option_next(&options));)
			if (option->help)
				fish_option(command, option);
	}
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*write)(void);
} shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};

static int found(void *context, const struct sonde_option *option, const char *value)
{
	const char **shell = context;
	if (!option)
		*shell = value;
	return 0;
}

static int run(int argc, char **argv)
{
	const char *shell = NULL;
	struct sonde_parse parse = {.command = sonde_command_find("completion"), .found = found, .context = &shell};
	int code = sonde_command_parse(&parse, argc, argv);
	if (code || parse.done)
		return code;
	for (size_t i = 0; shell && i < sizeof shells / sizeof *shells; i++)
		if (strcmp(shells[i].name, shell) == 0) {
			shells[i].write();
			return SONDE_EXIT_OK;
		}
	if (shell)
		fprintf(stderr, "sonde completion: no shell '%s'; known are bash, zsh and fish\n", shell);
	else
		fprintf(stderr, "sonde completion: which shell? Add bash, zsh or fish\n");
	return SONDE_EXIT_USAGE;
}

static const struct sonde_option options[] = {{0}};

const struct sonde_command sonde_command_completion = {
    .name = "completion",
    .title = "write a completion script for bash, zsh or fish",
    .usage = "bash|zsh|fish",
    .options = options,
    .examples = "source <(sonde completion bash)\n"
		"sonde completion fish > ~/.config/fish/completions/sonde.fish\n",
    .run = run,
};
