/* leave.h: how the program exits once its command has returned. */
#ifndef SONDE_CLI_COMMON_LEAVE_H
#define SONDE_CLI_COMMON_LEAVE_H

/* Flushes the standard streams and exits with this code. */
__attribute__((noreturn)) void sonde_leave(int code);

#endif
