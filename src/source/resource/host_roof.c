/* host_roof.c: copies the measured ceilings of this machine into the recording, so that it can be read on any machine.
 */
#include "roof/roof.h"
#include "source/resource/host.h"

static void put(void *context, const char *key, const char *value)
{
	sonde_recorder_info(context, key, value);
}

void sonde_host_describe_roof(struct sonde_recorder *recorder)
{
	struct sonde_roof roof;
	if (!sonde_roof_load(&roof))
		sonde_roof_to_keys(&roof, put, recorder);
}
