/* decode.h: converts CUPTI's records to calls of sonde/device.h: input is bytes and a version. For one thread.
 *
 * The buffers of a round are decoded twice: first for facts that other records need (devices, contexts, callers and
 * call times), then for the rest.
 */
#ifndef SONDE_INJECT_CUDA_DECODE_H
#define SONDE_INJECT_CUDA_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/device.h>

/* Where to report: the functions of sonde/device.h. */
struct cuda_out {
	uint32_t (*device)(const struct sonde_device_info *info);
	uint32_t (*queue)(const struct sonde_queue_info *info);
	uint32_t (*operation)(const struct sonde_operation_info *info);
	int (*activity)(const struct sonde_activity *activity);
	int (*lost)(const char *cause, uint64_t count);
};

struct cuda_decoder;

/* `version`: of CUPTI. NULL: out of memory. `out` must outlive the decoder. */
struct cuda_decoder *cuda_decoder_new(const struct cuda_out *out, uint32_t version);
void cuda_decoder_free(struct cuda_decoder *decoder);

/* Offset added to every time: from CUPTI's clock to CLOCK_MONOTONIC. */
void cuda_decoder_shift(struct cuda_decoder *decoder, int64_t shift_ns);

enum cuda_pass { CUDA_PASS_FACTS, CUDA_PASS_WORK, CUDA_PASSES };

/* cuptiActivityGetNextRecord(): moves *record to the next record (NULL: to the first); nonzero if there is none. */
typedef int cuda_next(uint8_t *bytes, size_t size_b, void **record);

/* Decodes a buffer. `next` knows the lengths of all kinds; NULL: uses our own lengths, up to the first unknown kind. */
void cuda_decode(struct cuda_decoder *decoder, uint8_t *bytes, size_t size_b, enum cuda_pass pass, cuda_next *next);
/* Reports the records that could not be decoded since the last call. */
void cuda_decoder_settle(struct cuda_decoder *decoder);

/* Length of a record of this kind in this version of CUPTI; 0: unknown. */
size_t cuda_record_b(uint32_t version, uint32_t kind);
/* Name of a call of the driver or the runtime API; NULL: unknown. */
const char *cuda_call_name(int is_driver, uint32_t call);

#endif
