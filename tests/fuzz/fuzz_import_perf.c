/* fuzz_import_perf.c: libFuzzer target: any bytes are imported as perf.data. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	import_fuzz("perf", NULL, bytes, size_b);
	return 0;
}
