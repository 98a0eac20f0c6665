/* choices.h: the possible values of options, by the name of the option's argument. */
#ifndef SONDE_CLI_COMMON_CHOICES_H
#define SONDE_CLI_COMMON_CHOICES_H

#include <stdio.h>

/* True if `argument` ("SHELL", "FORMAT") has a table. */
int sonde_choices_known(const char *argument);

/* Prints all its values, separated by `separator`. */
void sonde_choices_print(FILE *out, const char *argument, const char *separator);

#endif
