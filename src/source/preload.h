/* preload.h: our objects in front of the libraries of the command. */
#ifndef SONDE_SOURCE_PRELOAD_H
#define SONDE_SOURCE_PRELOAD_H

#include <stddef.h>

#include "run/launch.h"

/* 0 when `object` ("libsonde-….so") is there and LD_PRELOAD can name it, else a negative errno and why not. */
int sonde_preload_probe(const char *object, char *why, size_t why_b);

/* Puts it into the command's environment. */
int sonde_preload_add(struct sonde_launch *launch, const char *object);

#endif
