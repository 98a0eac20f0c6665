/* waits.h: the object of the waits source that is put into programs. */
#ifndef SONDE_SOURCE_WAIT_WAITS_H
#define SONDE_SOURCE_WAIT_WAITS_H

#define SONDE_WAITS_OBJECT "libsonde-waits.so"

#endif
