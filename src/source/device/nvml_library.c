/* nvml_library.c: finds NVIDIA's management library and its functions by name.
 *
 * It is found by the loader's own search, so that LD_LIBRARY_PATH and the links of the driver package apply. Functions
 * that an old driver lacks stay NULL, and the values that they would provide are reported as missing.
 */
#include "source/device/nvml_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "util/error.h"

#define LIBRARY "libnvidia-ml.so.1"

/* The first of the names that the library has; NULL if none. `names` ends with NULL. */
static void *find(void *object, const char *const *names)
{
	void *function = NULL;
	for (; *names && !function; names++)
		function = dlsym(object, *names);
	return function;
}

int sonde_nvml_library_open(struct sonde_nvml_library *out)
{
	struct sonde_nvml_library library = {.object = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
	const char *missing = NULL;
	if (!library.object)
		return sonde_error(
		    ENOENT,
		    "no NVIDIA driver: " LIBRARY
		    " cannot be loaded; it comes with the driver (in a container: with the runtime's GPU option)");
#define FIND(field, is_needed, parameters, ...)                          \
	{                                                                \
		static const char *const names[] = {__VA_ARGS__, NULL};  \
		void *function = find(library.object, names);            \
		memcpy(&library.field, &function, sizeof library.field); \
		missing = is_needed && !function ? names[0] : missing;   \
	}
	SONDE_NVML_FUNCTIONS(FIND)
#undef FIND
	if (missing) {
		dlclose(library.object);
		return sonde_error(ENOENT, LIBRARY " has no %s: a driver since 2012 is needed", missing);
	}
	*out = library;
	return 0;
}

void sonde_nvml_library_close(struct sonde_nvml_library *library)
{
	if (library->object)
		dlclose(library->object);
	*library = (struct sonde_nvml_library){0};
}

const char *sonde_nvml_library_why(int code)
{
	static const struct {
		int code;
		const char *why;
	} rows[] = {
	    {SONDE_NVML_NOT_SUPPORTED, "not supported"},
	    {SONDE_NVML_NO_PERMISSION, "not permitted: the administrator restricts it to root"},
	    {SONDE_NVML_DRIVER_NOT_LOADED, "the NVIDIA driver is not loaded: check with nvidia-smi"},
	    {SONDE_NVML_FUNCTION_NOT_FOUND, "the driver is too old for it"},
	    {SONDE_NVML_GPU_IS_LOST, "the GPU is lost: it fell off the bus, or the driver gave it up (see dmesg)"},
	    {SONDE_NVML_VERSION_MISMATCH,
	     "library and driver versions differ after a driver update: restart the machine"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].code == code)
			return rows[i].why;
	return "the driver reports an error (see nvidia-smi, dmesg)";
}
