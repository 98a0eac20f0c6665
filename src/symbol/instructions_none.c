/* instructions_none.c: built without capstone: nothing can be decoded. */
#include "symbol/instructions.h"

#include <errno.h>

#include "util/error.h"

int sonde_code_find_write(struct sonde_write *out, const struct sonde_code *code, uint64_t address)
{
	(void)out, (void)code, (void)address;
	return sonde_error(ENOSYS, "instructions cannot be decoded: sonde was built without libcapstone");
}

int sonde_code_each(const struct sonde_code *code,
		    int (*take)(void *context, const struct sonde_instruction *instruction), void *context)
{
	(void)code, (void)take, (void)context;
	return sonde_error(ENOSYS, "instructions cannot be decoded: sonde was built without libcapstone");
}
