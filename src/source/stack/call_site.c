/* call_site.c: recognises calls by their last bytes.
 *
 * x86-64: e8 and a distance, or ff /2 with every form of operand, 2 to 7 bytes without prefixes. Instruction boundaries
 * are not marked, so about one address in 50 looks like a return address by chance. aarch64: bl, blr.
 */
#include "source/stack/call_site.h"

#include <errno.h>
#include <string.h>

#define CALL_MAX_B 7u

#if defined(__x86_64__)
/* The length of `call *operand` with this ModRM and SIB byte; 0 if it is not a call. */
static unsigned indirect_b(uint8_t modrm, uint8_t sib)
{
	unsigned mode = modrm >> 6, memory = modrm & 7, size_b = 2;
	if ((modrm >> 3 & 7) != 2)
		return 0;
	if (mode == 3)
		return size_b;
	if (memory == 4)
		size_b++;
	if (mode == 1)
		return size_b + 1;
	if (mode == 2 || memory == 5 || (memory == 4 && (sib & 7) == 5))
		size_b += 4;
	return size_b;
}

static int ends_in_call(const uint8_t *bytes)
{
	if (bytes[CALL_MAX_B - 5] == 0xe8)
		return 1;
	for (unsigned size_b = 2; size_b <= CALL_MAX_B; size_b++) {
		const uint8_t *at = bytes + CALL_MAX_B - size_b;
		if (at[0] == 0xff && indirect_b(at[1], size_b > 2 ? at[2] : 0) == size_b)
			return 1;
	}
	return 0;
}
#else
static int ends_in_call(const uint8_t *bytes)
{
	uint32_t word;
	memcpy(&word, bytes + CALL_MAX_B - sizeof word, sizeof word);
	return word >> 26 == 0x25 || (word & 0xfffffc1f) == 0xd63f0000;
}
#endif

int sonde_call_site_is_behind_call(struct sonde_live_memory *live, pid_t pid, uint64_t address)
{
	uint8_t bytes[CALL_MAX_B];
	if (address <= CALL_MAX_B || sonde_live_memory_read(live, pid, address - CALL_MAX_B, bytes, sizeof bytes))
		return -EFAULT;
	return ends_in_call(bytes);
}
