/* fuzz_import_pprof.c: libFuzzer target: any bytes are imported as a pprof profile. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	import_fuzz("pprof", size_b & 1 ? "alloc_space" : NULL, bytes, size_b);
	return 0;
}
