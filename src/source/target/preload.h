/* preload.h: preloads our objects into the command (LD_PRELOAD). */
#ifndef SONDE_SOURCE_TARGET_PRELOAD_H
#define SONDE_SOURCE_TARGET_PRELOAD_H

#include <stddef.h>
#include <sys/types.h>

#include "run/launch.h"

/* Why a process has not loaded our object after an exec. */
#define SONDE_PRELOAD_HIDDEN "sonde's files cannot be read there (another root directory, mount namespace or user)"

/* 0 if `object` ("libsonde-….so") exists and LD_PRELOAD can name it, else a negative errno and the reason. */
int sonde_preload_probe(const char *object, char *why, size_t why_b);

/* Adds the object to the command's environment. */
int sonde_preload_add(struct sonde_launch *launch, const char *object);

/* True if the object added by sonde_preload_add() does not exist in the root directory of a process. */
int sonde_preload_is_hidden(pid_t pid, const char *object);

#endif
