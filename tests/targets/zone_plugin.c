/* zone_plugin.c: a library with a zone, to be loaded and unloaded repeatedly. */
#include <sonde/sonde.h>

void zone_plugin_run(void);

void zone_plugin_run(void)
{
	SONDE_ZONE("in the plugin");
}
