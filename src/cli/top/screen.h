/* screen.h: the screen of `sonde top`: the views of an interval as lists, with the keys of htop. */
#ifndef SONDE_CLI_TOP_SCREEN_H
#define SONDE_CLI_TOP_SCREEN_H

#include "cli/top/feed.h"

/* Checks that a screen is possible; call it first. 0, -ENOTTY or -ENOENT. */
int sonde_top_screen_check(void);

/* Shows the process until the user quits, even after the process has exited. 0 or a negative errno; restores the
 * terminal. */
int sonde_top_screen_run(const struct sonde_top_target *target);
/* True if the screen ended because the terminal was closed. */
int sonde_top_screen_is_hung_up(void);

#endif
