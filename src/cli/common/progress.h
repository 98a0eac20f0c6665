/* progress.h: one line on the terminal about what takes longer than a second. */
#ifndef SONDE_CLI_COMMON_PROGRESS_H
#define SONDE_CLI_COMMON_PROGRESS_H

/* `line` ends with a newline and lives until sonde_progress_end(). One at a time. */
void sonde_progress_begin(const char *line);
void sonde_progress_end(void);

#endif
