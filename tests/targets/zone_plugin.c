/* zone_plugin.c: a library with a zone, to be opened and closed again and again. */
#include <sonde/sonde.h>

void zone_plugin_run(void);

void zone_plugin_run(void)
{
	SONDE_ZONE("in the plugin");
}
