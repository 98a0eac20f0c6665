/* fuzz_frame_rules.c: libFuzzer target: any bytes are code, and rules are derived at its instructions.
 *
 * A second look-up of an instruction gives the same rule. An instruction that changes no register that a rule may name,
 * and does not branch, has the same rule for the return address as the next instruction.
 */
#include <stdlib.h>
#include <string.h>

#include "symbol/frames/frame_rules.h"
#include "symbol/frames/x86.h"

#define AT 0x1000u
#define REQUESTED_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

struct input {
	const uint8_t *bytes;
	size_t size_b;
};

static size_t read_input(void *context, uint64_t address, uint8_t *out, size_t size_b)
{
	const struct input *input = context;
	uint64_t at = address - AT;
	if (at >= input->size_b)
		return 0;
	size_t part_b = input->size_b - at < size_b ? input->size_b - at : size_b;
	memcpy(out, input->bytes + at, part_b);
	return part_b;
}

static int is_same(const struct sonde_frame_value *a, const struct sonde_frame_value *b)
{
	return a->kind == b->kind && ((a->kind != SONDE_FRAME_REGISTER && a->kind != SONDE_FRAME_MEMORY) ||
				      (a->reg == b->reg && a->offset == b->offset &&
				       (a->kind == SONDE_FRAME_REGISTER || a->load == b->load)));
}

static void check(struct sonde_frame_rules *rules, const struct input *input, uint64_t address)
{
	struct sonde_x86 what;
	const struct sonde_frame_rule first = *sonde_frame_rules_find(rules, address);
	const struct sonde_frame_rule again = *sonde_frame_rules_find(rules, address);
	if (!is_same(&first.ra, &again.ra) || !is_same(&first.fp, &again.fp) || first.ra.kind > SONDE_FRAME_UNKNOWN)
		abort();
	if (first.ra.kind != SONDE_FRAME_REGISTER || first.ra.reg >= SONDE_X86_NO_REGISTER)
		return;
	if (sonde_x86_decode(&what, input->bytes + (address - AT), input->size_b - (address - AT), address))
		abort(); /* what has a rule is an instruction */
	if (what.kind == SONDE_X86_OTHER && !what.written) {
		const struct sonde_frame_rule next = *sonde_frame_rules_find(rules, address + what.size_b);
		if (!is_same(&first.ra, &next.ra))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	struct input input = {bytes, size_b};
	struct sonde_frame_rules *rules;
	const struct sonde_frame_code code = {.read = read_input, .context = &input};
	if (sonde_frame_rules_new(&rules, &code))
		return 0;
	for (size_t i = 0; i < size_b && i < REQUESTED_MAX; i++)
		check(rules, &input, AT + i);
	sonde_frame_rules_lead(rules, AT, AT + size_b / 2);
	sonde_frame_rules_lead(rules, AT + size_b / 3, AT + size_b / 2);
	sonde_frame_rules_free(rules);
	return 0;
}
