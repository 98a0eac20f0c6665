/* fuzz_import_folded.c: libFuzzer target: any bytes are imported as folded stacks. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	import_fuzz("folded", NULL, bytes, size_b);
	return 0;
}
