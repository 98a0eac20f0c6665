/* fuzz_import_chrome.c: libFuzzer target: any bytes are imported as trace events. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	import_fuzz("chrome", NULL, bytes, size_b);
	return 0;
}
