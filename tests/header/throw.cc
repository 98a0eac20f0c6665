/* throw.cc: scopes end when an exception passes them. */
#include <cstring>

#include <sonde/sonde.h>

static void throws()
{
	SONDE_ZONE("thrown through");
	throw 1;
}

int main(int argc, char **argv)
{
	struct sonde_stats stats;
	if (argc < 2 || sonde_start(argv[1]) != SONDE_OK)
		return 1;
	for (int i = 0; i < 10; i++) {
		try {
			SONDE_ZONE("tries");
			throws();
		} catch (int) {
		}
	}
	if (sonde_stats_of("thrown through", &stats) != SONDE_OK || stats.count != 10)
		return 2;
	if (sonde_stats_of("tries", &stats) != SONDE_OK || stats.count != 10 || stats.self_ns >= stats.total_ns)
		return 3;
	return sonde_stop();
}
