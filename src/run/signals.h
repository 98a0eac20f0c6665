/* signals.h: the signals that reach the recorder while its command runs. Handlers only count; the loop asks.
 *
 * A signal from the terminal reaches the command by itself; one that was sent to us alone is handed on. One process,
 * one thread; the state is the process's.
 */
#ifndef SONDE_RUN_SIGNALS_H
#define SONDE_RUN_SIGNALS_H

#include <signal.h>

/* A limit on file sizes becomes a write error. `old` (may be NULL): what the signal did before. */
void sonde_signals_ignore_file_limit(struct sigaction *old);

/* Call it after the command was forked, which keeps what we were started with. Catches INT, TERM, HUP, QUIT (those that
 * were not ignored) and USR2; takes CHLD back from who ignored it, so that the command can be waited for. */
void sonde_signals_catch(void);

/* A signal that only we were sent, once; 0 = none. */
int sonde_signals_take_forward(void);

/* How often an end was asked for: INT, TERM, HUP, QUIT, from wherever; and INT alone. */
unsigned sonde_signals_ends(void);
unsigned sonde_signals_interrupts(void);

/* Whether USR2 came since the last call. */
int sonde_signals_take_save(void);

#endif
