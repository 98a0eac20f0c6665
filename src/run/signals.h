/* signals.h: the signals that reach the recorder while its command runs. Handlers only count; the loop asks.
 *
 * A signal from the terminal reaches the command by itself; one that was sent to us alone is handed on. One process,
 * one thread; the state is the process's.
 */
#ifndef SONDE_RUN_SIGNALS_H
#define SONDE_RUN_SIGNALS_H

#include <signal.h>
#include <sys/types.h>

/* A limit on file sizes becomes a write error. `old` (may be NULL): what the signal did before. */
void sonde_signals_ignore_file_limit(struct sigaction *old);

/* Call it after the command was forked, which keeps what we were started with. Catches whatever else would end us,
 * unless it was ignored; SIGUSR2 only `saves`, and SIGUSR1 only takes `snapshots`, when that is asked for. Takes CHLD
 * back from who ignored it, so that the command can be waited for. */
void sonde_signals_catch(int saves, int snapshots);

/* A signal that only we were sent, once each; 0 = none. */
int sonde_signals_take_forward(void);

/* What another command that is started would inherit becomes what we were started with. */
void sonde_signals_give_back(void);

/* How often a signal came that would have ended us; one of INT, TERM, HUP and QUIT, by which people end things; INT. */
unsigned sonde_signals_ends(void);
unsigned sonde_signals_quits(void);
unsigned sonde_signals_interrupts(void);

/* Whether a save was asked for since the last call. */
int sonde_signals_take_save(void);

/* Whether a snapshot was asked for since the last call. */
int sonde_signals_take_snapshot(void);

/* Whether a process ignores a signal, as /proc says; 0 also when that cannot be read. */
int sonde_signals_is_ignored_by(pid_t pid, int number);

#endif
