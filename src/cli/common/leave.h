/* leave.h: how the program ends once its command has returned. */
#ifndef SONDE_CLI_COMMON_LEAVE_H
#define SONDE_CLI_COMMON_LEAVE_H

/* Writes out what the standard streams hold, and ends with this exit code. */
__attribute__((noreturn)) void sonde_leave(int code);

#endif
