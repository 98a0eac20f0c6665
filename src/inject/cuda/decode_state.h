/* decode_state.h: internals of the decoder: its state, and the interface between cuda/records.c and cuda/decode.c. */
#ifndef SONDE_INJECT_CUDA_DECODE_STATE_H
#define SONDE_INJECT_CUDA_DECODE_STATE_H

#include <string.h>

#include "inject/cuda/abi.h"
#include "inject/cuda/decode.h"
#include "inject/cuda/intern.h"

#define CUDA_CALLS_KEPT 65536u
#define CUDA_LAUNCHES_KEPT 4096u

/* The thread and the time of a call. */
struct cuda_call {
	uint32_t correlation, tid;
	uint64_t start_ns, end_ns;
};

enum cuda_loss { CUDA_LOSS_CUT, CUDA_LOSS_KIND, CUDA_LOSS_TIMES, CUDA_LOSS_MANY, CUDA_LOSSES };

/* State of the decoder. Its size is bounded; what it keeps for each context is only the number of the default
 * stream. */
struct cuda_decoder {
	const struct cuda_out *out;
	uint64_t shift_ns;
	uint64_t lost[CUDA_LOSSES];
	uint32_t sizes[CUDA_KINDS];
	struct cuda_table devices, contexts, queues, operations, graphs;
	struct cuda_names names;
	struct cuda_call calls[CUDA_CALLS_KEPT];
	uint32_t launches[CUDA_LAUNCHES_KEPT]; /* graph launches already reported, by correlation */
};

/* --- fields ------------------------------------------------------------------------------------------------------- */

static inline uint8_t cuda_u8(const uint8_t *record, size_t at)
{
	return record[at];
}

static inline uint16_t cuda_u16(const uint8_t *record, size_t at)
{
	uint16_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static inline uint32_t cuda_u32(const uint8_t *record, size_t at)
{
	uint32_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static inline uint64_t cuda_u64(const uint8_t *record, size_t at)
{
	uint64_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static inline const char *cuda_text(const uint8_t *record, size_t at)
{
	const char *value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static inline uint64_t cuda_moment(const struct cuda_decoder *decoder, uint64_t time_ns)
{
	return time_ns ? time_ns + decoder->shift_ns : 0;
}

/* All properties of an operation; `name` is the number of its name. */
struct cuda_operation {
	uint32_t kind, name;
	uint32_t grid[3], block[3];
	uint32_t registers, local_b, static_shared_b, dynamic_shared_b, shared_unit_b;
	uint32_t memory; /* from, and to × 256 */
	uint32_t from_device, to_device;
};
#define CUDA_OPERATION_WORDS 8
_Static_assert(sizeof(struct cuda_operation) == CUDA_OPERATION_WORDS * sizeof(uint64_t), "a key of words");

/* --- cuda/decode.c ------------------------------------------------------------------------------------------------ */

/* Each returns the number of a thing, which is reported first if it is new; 0 = there are too many. A device without a
 * record (`info` NULL) is known by its index alone. */
uint32_t cuda_device_of(struct cuda_decoder *decoder, uint32_t index, const struct sonde_device_info *info);
uint32_t cuda_queue_of(struct cuda_decoder *decoder, uint32_t device, uint32_t context, uint32_t stream);
uint32_t cuda_operation_of(struct cuda_decoder *decoder, const struct cuda_operation *operation);
uint32_t cuda_named(struct cuda_decoder *decoder, uint32_t kind, const char *name, uint32_t from, uint32_t to);
void cuda_context_recorded(struct cuda_decoder *decoder, uint32_t context, uint32_t device, uint16_t default_stream);
/* The number of a context's default stream, + 1; 0 = unknown. */
uint64_t cuda_default_stream(struct cuda_decoder *decoder, uint32_t context);
/* The queue of a single stream: a wait for the default stream may include others, too. 0 = no stream is given, it is
 * the default one, or the context is unknown. */
uint32_t cuda_queue_of_context(struct cuda_decoder *decoder, uint32_t context, uint32_t stream);
/* The call with that correlation; NULL = unknown, or too old. */
const struct cuda_call *cuda_call_of(const struct cuda_decoder *decoder, uint32_t correlation);

void cuda_record(struct cuda_decoder *decoder, const struct sonde_activity *activity);
/* Device work: in a queue, attributed to the calling thread. Device, context and stream are three words at
 * `device_at`. */
void cuda_record_work(struct cuda_decoder *decoder, struct sonde_activity *activity, const uint8_t *record,
		      size_t device_at);
/* Host activity: in the calling thread. */
void cuda_record_host(struct cuda_decoder *decoder, struct sonde_activity *activity);

#endif
