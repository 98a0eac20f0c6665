/* decode.c: reports the contents of CUPTI's records: devices, queues and operations once, activities each time
 * (cuda/decode.h).
 *
 * A kernel's record does not contain its launching thread or the launch time; the record of the call, which has the
 * same correlation, does. So the newest 65536 calls are kept by correlation. Correlations count up, so a new call
 * replaces an old one.
 */
#include "inject/cuda/decode.h"

#include <stdlib.h>

#include "inject/cuda/decode_state.h"

#define OPERATIONS_MAX (1u << 17)
#define QUEUES_MAX (1u << 14)
#define DEVICES_MAX 256u
#define CONTEXTS_MAX (1u << 12)
#define GRAPHS_MAX (1u << 12)

static const char *const losses[CUDA_LOSSES] = {
    [CUDA_LOSS_CUT] = "CUDA: records that were cut off",
    [CUDA_LOSS_KIND] = "CUDA: records of unknown kinds",
    [CUDA_LOSS_TIMES] = "CUDA: work with unknown times: it had not ended",
    [CUDA_LOSS_MANY] = "CUDA: too many kernels, launch configurations or streams",
};

/* --- devices, queues, operations ---------------------------------------------------------------------------------- */

/* Sets the number of a new table entry to `id`, and returns it. If `id` is 0, the entry, which must be the newest one,
 * is removed from the table again. */
static uint32_t settle(struct cuda_table *table, uint64_t *number, uint32_t id)
{
	*number = id;
	table->count -= !id;
	return id;
}

/* A device without a record is known by its index alone. */
uint32_t cuda_device_of(struct cuda_decoder *decoder, uint32_t index, const struct sonde_device_info *info)
{
	const struct sonde_device_info unknown = {.api = "CUDA", .kind = SONDE_DEVICE_GPU, .index = index};
	uint64_t *number = cuda_table_of(&decoder->devices, &(uint64_t){index});
	if (!number)
		return 0;
	return *number ? (uint32_t)*number
		       : settle(&decoder->devices, number, decoder->out->device(info ? info : &unknown));
}

/* The stored data of a context; 0 = none. */
static uint64_t context_of(struct cuda_decoder *decoder, uint32_t context)
{
	uint64_t *known = cuda_table_of(&decoder->contexts, &(uint64_t){context});
	if (known && !*known)
		settle(&decoder->contexts, known, 0);
	return known ? *known : 0;
}

void cuda_context_recorded(struct cuda_decoder *decoder, uint32_t context, uint32_t device, uint16_t default_stream)
{
	uint64_t *known = cuda_table_of(&decoder->contexts, &(uint64_t){context});
	if (known)
		*known = (uint64_t)device << 32 | ((uint32_t)default_stream + 1);
}

uint64_t cuda_default_stream(struct cuda_decoder *decoder, uint32_t context)
{
	return (uint32_t)context_of(decoder, context);
}

uint32_t cuda_queue_of_context(struct cuda_decoder *decoder, uint32_t context, uint32_t stream)
{
	uint64_t known = context_of(decoder, context);
	if (!known || stream == (uint32_t)CUDA_NO_STREAM || (uint32_t)known == (uint64_t)stream + 1)
		return 0;
	return cuda_queue_of(decoder, (uint32_t)(known >> 32), context, stream);
}

uint32_t cuda_queue_of(struct cuda_decoder *decoder, uint32_t device, uint32_t context, uint32_t stream)
{
	const uint64_t key[2] = {device, (uint64_t)context << 32 | stream};
	uint64_t *number = cuda_table_of(&decoder->queues, key);
	if (!number || *number)
		return number ? (uint32_t)*number : 0;
	int is_default = cuda_default_stream(decoder, context) == (uint64_t)stream + 1;
	struct sonde_queue_info info = {
	    .device = cuda_device_of(decoder, device, NULL),
	    .flags = is_default ? SONDE_QUEUE_DEFAULT : 0,
	    .context = context,
	    .handle = stream,
	    .name = is_default ? "default stream" : NULL,
	};
	return settle(&decoder->queues, number, decoder->out->queue(&info));
}

static uint32_t add_operation(struct cuda_decoder *decoder, const struct cuda_operation *operation)
{
	struct sonde_operation_info info = {
	    .kind = operation->kind,
	    .name = cuda_name_text(&decoder->names, operation->name),
	    .registers = operation->registers,
	    .local_b = operation->local_b,
	    .static_shared_b = operation->static_shared_b,
	    .dynamic_shared_b = operation->dynamic_shared_b,
	    .shared_unit_b = operation->shared_unit_b,
	    .from = (uint8_t)operation->memory,
	    .to = (uint8_t)(operation->memory >> 8),
	    .from_device = operation->from_device,
	    .to_device = operation->to_device,
	};
	memcpy(info.grid, operation->grid, sizeof info.grid);
	memcpy(info.block, operation->block, sizeof info.block);
	return decoder->out->operation(&info);
}

uint32_t cuda_operation_of(struct cuda_decoder *decoder, const struct cuda_operation *operation)
{
	uint64_t key[CUDA_OPERATION_WORDS];
	memcpy(key, operation, sizeof key);
	uint64_t *number = cuda_table_of(&decoder->operations, key);
	if (!number)
		return 0;
	return *number ? (uint32_t)*number : settle(&decoder->operations, number, add_operation(decoder, operation));
}

uint32_t cuda_named(struct cuda_decoder *decoder, uint32_t kind, const char *name, uint32_t from, uint32_t to)
{
	struct cuda_operation operation = {
	    .kind = kind, .name = cuda_name_of(&decoder->names, name), .memory = from | to << 8};
	return cuda_operation_of(decoder, &operation);
}

/* --- activities --------------------------------------------------------------------------------------------------- */

const struct cuda_call *cuda_call_of(const struct cuda_decoder *decoder, uint32_t correlation)
{
	const struct cuda_call *call = &decoder->calls[correlation % CUDA_CALLS_KEPT];
	return correlation && call->correlation == correlation ? call : NULL;
}

void cuda_record(struct cuda_decoder *decoder, const struct sonde_activity *activity)
{
	if (!activity->start_ns || activity->end_ns < activity->start_ns)
		decoder->lost[CUDA_LOSS_TIMES]++;
	else if (!activity->operation)
		decoder->lost[CUDA_LOSS_MANY]++;
	else
		decoder->out->activity(activity); /* rejected activities are counted by the callee */
}

/* Device work: in a queue, attributed to the calling thread. */
void cuda_record_work(struct cuda_decoder *decoder, struct sonde_activity *activity, const uint8_t *record,
		      size_t device_at)
{
	const struct cuda_call *call = cuda_call_of(decoder, (uint32_t)activity->correlation);
	activity->queue = cuda_queue_of(decoder, cuda_u32(record, device_at), cuda_u32(record, device_at + 4),
					cuda_u32(record, device_at + 8));
	activity->tid = call ? call->tid : SONDE_TID_UNKNOWN;
	activity->queued_ns = call && call->start_ns <= activity->start_ns ? call->start_ns : 0;
	if (!activity->queue)
		activity->operation = 0;
	cuda_record(decoder, activity);
}

/* Host activity: in the calling thread. */
void cuda_record_host(struct cuda_decoder *decoder, struct sonde_activity *activity)
{
	const struct cuda_call *call = cuda_call_of(decoder, (uint32_t)activity->correlation);
	if (!activity->tid)
		activity->tid = call ? call->tid : SONDE_TID_UNKNOWN;
	cuda_record(decoder, activity);
}

/* --- the decoder -------------------------------------------------------------------------------------------------- */

void cuda_decoder_settle(struct cuda_decoder *decoder)
{
	for (int i = 0; i < CUDA_LOSSES; i++) {
		if (decoder->lost[i])
			decoder->out->lost(losses[i], decoder->lost[i]);
		decoder->lost[i] = 0;
	}
}

void cuda_decoder_shift(struct cuda_decoder *decoder, int64_t shift_ns)
{
	decoder->shift_ns = (uint64_t)shift_ns;
}

struct cuda_decoder *cuda_decoder_new(const struct cuda_out *out, uint32_t version)
{
	struct cuda_decoder *decoder = calloc(1, sizeof *decoder);
	if (!decoder)
		return NULL;
	decoder->out = out;
	for (uint32_t kind = 0; kind < CUDA_KINDS; kind++)
		decoder->sizes[kind] = (uint32_t)cuda_record_b(version, kind);
	decoder->devices = (struct cuda_table){.key_words = 1, .max = DEVICES_MAX};
	decoder->contexts = (struct cuda_table){.key_words = 1, .max = CONTEXTS_MAX};
	decoder->queues = (struct cuda_table){.key_words = 2, .max = QUEUES_MAX};
	decoder->graphs = (struct cuda_table){.key_words = 1, .max = GRAPHS_MAX};
	decoder->operations = (struct cuda_table){.key_words = CUDA_OPERATION_WORDS, .max = OPERATIONS_MAX};
	return decoder;
}

void cuda_decoder_free(struct cuda_decoder *decoder)
{
	if (!decoder)
		return;
	cuda_table_fini(&decoder->devices);
	cuda_table_fini(&decoder->contexts);
	cuda_table_fini(&decoder->queues);
	cuda_table_fini(&decoder->graphs);
	cuda_table_fini(&decoder->operations);
	cuda_names_fini(&decoder->names);
	free(decoder);
}
