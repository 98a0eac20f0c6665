/* signals.h: signals that reach the recorder while its command runs. Handlers only count; the main loop polls.
 *
 * A signal from the terminal reaches the command by itself; a signal sent only to us is forwarded. Process-wide state,
 * single-threaded.
 */
#ifndef SONDE_RUN_SIGNALS_H
#define SONDE_RUN_SIGNALS_H

#include <signal.h>
#include <sys/types.h>

/* Turns exceeding the file size limit into a write error. `old` (may be NULL): the previous disposition. */
void sonde_signals_ignore_file_limit(struct sigaction *old);

/* Call it after forking the command, which keeps the original dispositions. Catches all other signals that would end
 * us, unless they were ignored; SIGUSR2 only if `saves`, SIGUSR1 only if `snapshots`. Resets an ignored SIGCHLD, so
 * that the command can be waited for. */
void sonde_signals_catch(int saves, int snapshots);

/* A signal that was sent only to us, each reported once; 0 = none. */
int sonde_signals_take_forward(void);

/* Restores the original dispositions that another command would inherit. */
void sonde_signals_give_back(void);

/* The number of signals received so far. sonde_signals_ends(): signals that would have ended us; sonde_signals_quits():
 * those with which users end programs (INT, TERM, HUP and QUIT); sonde_signals_interrupts(): INT only. */
unsigned sonde_signals_ends(void);
unsigned sonde_signals_quits(void);
unsigned sonde_signals_interrupts(void);

/* True if a save was requested since the last call. */
int sonde_signals_take_save(void);

/* True if a snapshot was requested since the last call. */
int sonde_signals_take_snapshot(void);

/* True if a process ignores a signal, according to /proc; 0 also if that cannot be read. */
int sonde_signals_is_ignored_by(pid_t pid, int number);

#endif
