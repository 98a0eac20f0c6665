/* nvml_reader.h: reads NVIDIA's devices in a thread of its own.
 *
 * The driver may take a second to begin, holds calls up while a device is busy, and never answers any more when one is
 * broken: whoever records must not wait for it. Functions are for the one thread that began it.
 */
#ifndef SONDE_SOURCE_DEVICE_NVML_READER_H
#define SONDE_SOURCE_DEVICE_NVML_READER_H

#include <stddef.h>
#include <stdint.h>

#include "source/device/nvml_device.h"

struct sonde_nvml_reader;

struct sonde_nvml_reader_options {
	enum sonde_nvml_what what;
	uint64_t every_ns;
	uint64_t share; /* of a CPU: at most a `share`th */
};

/* What it has come to. Texts and devices live until sonde_nvml_reader_end(). */
struct sonde_nvml_reader_state {
	int has_begun; /* the driver has answered */
	int code;      /* with which it could not begin; 0 = it could */
	char driver[SONDE_NVML_TEXT_B];
	const struct sonde_nvml_device *devices;
	uint32_t device_count, more; /* beyond what is read */
	uint64_t rounds, held_back, first_ns, last_ns;
	uint64_t cpu_ns, begin_ns; /* CPU time of readings; how long the driver took to begin */
	uint64_t dropped;          /* readings that nobody fetched in time */
};

/* Begins as soon as the driver has. -ENOENT without the library, -EAGAIN. */
int sonde_nvml_reader_begin(struct sonde_nvml_reader **out, const struct sonde_nvml_reader_options *options);

/* Becomes readable when there are readings. */
int sonde_nvml_reader_fd(const struct sonde_nvml_reader *reader);

/* Readings since the last call, in order of time; they live until the next. */
size_t sonde_nvml_reader_fetch(struct sonde_nvml_reader *reader, const struct sonde_nvml_reading **out);

/* Whether the driver has answered with devices, and how many: their names may be read from then on. */
uint32_t sonde_nvml_reader_devices(struct sonde_nvml_reader *reader, const struct sonde_nvml_device **out);

/* Reads once more and ends, waiting at most `most_ns`. 0; -ETIMEDOUT when the driver does not answer: then the thread
 * and its memory are left to it, and `out` says what was known before. */
int sonde_nvml_reader_stop(struct sonde_nvml_reader *reader, uint64_t most_ns, struct sonde_nvml_reader_state *out);

/* Frees what stopped. */
void sonde_nvml_reader_end(struct sonde_nvml_reader *reader);

#endif
