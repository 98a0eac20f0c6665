/* waits.h: whose waits hooks tell. */
#ifndef SONDE_SOURCE_WAIT_WAITS_H
#define SONDE_SOURCE_WAIT_WAITS_H

#include <stdint.h>
#include <sys/types.h>

#define SONDE_WAITS_OBJECT "libsonde-waits.so"

/* Whether hooks in this process tell where its threads wait: it is connected, and has not left. */
int sonde_waits_tells(pid_t pid);
/* Whether they did at some time, in a process of the recording. */
int sonde_waits_told(uint32_t process);
/* Whether hooks stand in it whose words cannot reach us (target/cut_off.h). */
int sonde_waits_cut_off(uint32_t process);

#endif
