/* screen.h: the screen of `sonde top`: the views of an interval as lists, and keys as in htop. */
#ifndef SONDE_CLI_TOP_SCREEN_H
#define SONDE_CLI_TOP_SCREEN_H

#include "cli/top/feed.h"

/* 0; -ENOTTY, -ENOENT when there can be no screen. To be asked first. */
int sonde_top_screen_check(void);

/* Shows the process until it is told to quit, also when the process has ended. 0 or a negative errno, with the terminal
 * as it was. */
int sonde_top_screen_run(const struct sonde_top_target *target);
/* Whether it ended because the terminal was closed. */
int sonde_top_screen_is_hung_up(void);

#endif
