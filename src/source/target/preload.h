/* preload.h: our objects in front of the libraries of the command. */
#ifndef SONDE_SOURCE_TARGET_PRELOAD_H
#define SONDE_SOURCE_TARGET_PRELOAD_H

#include <stddef.h>
#include <sys/types.h>

#include "run/launch.h"

/* Why a process that was executed has not loaded an object of ours. */
#define SONDE_PRELOAD_HIDDEN "sonde's files cannot be read there (another root directory, mount namespace or user)"

/* 0 when `object` ("libsonde-….so") is there and LD_PRELOAD can name it, else a negative errno and why not. */
int sonde_preload_probe(const char *object, char *why, size_t why_b);

/* Puts it into the command's environment. */
int sonde_preload_add(struct sonde_launch *launch, const char *object);

/* Whether the object that sonde_preload_add() named cannot be found in the root directory of a process. */
int sonde_preload_is_hidden(pid_t pid, const char *object);

#endif
