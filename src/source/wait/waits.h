/* waits.h: the object that the waits source injects into programs. */
#ifndef SONDE_SOURCE_WAIT_WAITS_H
#define SONDE_SOURCE_WAIT_WAITS_H

#define SONDE_WAITS_OBJECT "libsonde-waits.so"

#endif
