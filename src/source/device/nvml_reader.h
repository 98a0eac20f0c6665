/* nvml_reader.h: reads NVIDIA GPUs in a thread of its own.
 *
 * The driver may take a second to start, blocks calls while a GPU is busy, and never answers again if a GPU is broken:
 * the recorder must not wait for it. All functions are for the thread that started the reader.
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
	uint64_t share; /* at most 1/share of a CPU */
};

/* Results. Texts and devices live until sonde_nvml_reader_end(). */
struct sonde_nvml_reader_state {
	int has_begun; /* the driver has answered */
	int code;      /* why it could not start; 0 = it did */
	char driver[SONDE_NVML_TEXT_B];
	const struct sonde_nvml_device *devices;
	uint32_t device_count, more; /* GPUs that are read; further GPUs, which are not */
	uint64_t rounds, held_back, first_ns, last_ns;
	uint64_t cpu_ns, begin_ns; /* CPU time spent on readings; time that the driver took to start */
	uint64_t dropped;          /* readings not fetched in time */
};

/* Starts the thread; readings begin as soon as the driver has started. -ENOENT without the library, -EAGAIN. */
int sonde_nvml_reader_begin(struct sonde_nvml_reader **out, const struct sonde_nvml_reader_options *options);

/* A descriptor that becomes readable when there are readings. */
int sonde_nvml_reader_fd(const struct sonde_nvml_reader *reader);

/* Readings since the last call, in time order; valid until the next call. */
size_t sonde_nvml_reader_fetch(struct sonde_nvml_reader *reader, const struct sonde_nvml_reading **out);

/* The number of GPUs, once the driver has answered; their names may be read from then on. */
uint32_t sonde_nvml_reader_devices(struct sonde_nvml_reader *reader, const struct sonde_nvml_device **out);

/* Reads once more and stops, waiting at most `most_ns`. 0; -ETIMEDOUT if the driver does not answer: then the thread
 * and its memory are abandoned, and `out` holds the results so far. */
int sonde_nvml_reader_stop(struct sonde_nvml_reader *reader, uint64_t most_ns, struct sonde_nvml_reader_state *out);

/* Frees a stopped reader. */
void sonde_nvml_reader_end(struct sonde_nvml_reader *reader);

#endif
