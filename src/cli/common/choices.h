/* choices.h: the values an option can take, where a table knows them: named by the option's argument. */
#ifndef SONDE_CLI_COMMON_CHOICES_H
#define SONDE_CLI_COMMON_CHOICES_H

#include <stdio.h>

/* Whether `argument` ("SHELL", "FORMAT") has a table. */
int sonde_choices_known(const char *argument);

/* All its values, with `separator` between them. */
void sonde_choices_print(FILE *out, const char *argument, const char *separator);

#endif
