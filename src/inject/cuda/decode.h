/* decode.h: CUPTI's records into what sonde/device.h says: bytes and a version in, calls out. One thread.
 *
 * Buffers of a round are decoded twice: first for what others need to know (devices, contexts, who called what and
 * when), then for the rest.
 */
#ifndef SONDE_INJECT_CUDA_DECODE_H
#define SONDE_INJECT_CUDA_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/device.h>

/* Who is told: the functions of sonde/device.h. */
struct cuda_out {
	uint32_t (*device)(const struct sonde_device_info *info);
	uint32_t (*queue)(const struct sonde_queue_info *info);
	uint32_t (*operation)(const struct sonde_operation_info *info);
	int (*activity)(const struct sonde_activity *activity);
	int (*lost)(const char *cause, uint64_t count);
};

struct cuda_decoder;

/* `version`: of CUPTI. NULL: no memory. `out` is to stay. */
struct cuda_decoder *cuda_decoder_new(const struct cuda_out *out, uint32_t version);
void cuda_decoder_free(struct cuda_decoder *decoder);

/* Added to every time: from CUPTI's clock to CLOCK_MONOTONIC. */
void cuda_decoder_shift(struct cuda_decoder *decoder, int64_t shift_ns);

enum cuda_pass { CUDA_PASS_FACTS, CUDA_PASS_WORK, CUDA_PASSES };

/* cuptiActivityGetNextRecord(): sets the record after *record (NULL: the first); 0, or there is none. */
typedef int cuda_next(uint8_t *bytes, size_t size_b, void **record);

/* A buffer. `next` knows the lengths of all kinds; NULL: those that we know, until the first that we do not. */
void cuda_decode(struct cuda_decoder *decoder, uint8_t *bytes, size_t size_b, enum cuda_pass pass, cuda_next *next);
/* Tells what could not be decoded since. */
void cuda_decoder_settle(struct cuda_decoder *decoder);

/* How long a record of that kind is; 0: not known. */
size_t cuda_record_b(uint32_t version, uint32_t kind);
/* NULL: none that we know. */
const char *cuda_call_name(int is_driver, uint32_t call);

#endif
