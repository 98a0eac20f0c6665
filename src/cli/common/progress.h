/* progress.h: prints a line on the terminal about anything that takes longer than a second. */
#ifndef SONDE_CLI_COMMON_PROGRESS_H
#define SONDE_CLI_COMMON_PROGRESS_H

/* `line` ends with a newline and must live until sonde_progress_end(). One at a time. */
void sonde_progress_begin(const char *line);
void sonde_progress_end(void);

#endif
