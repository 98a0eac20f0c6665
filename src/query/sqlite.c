/* sqlite.c: loads SQLite when a query is opened. */
#include "query/sqlite.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "util/error.h"

#define LIBRARY "libsqlite3.so.0"

struct sonde_sqlite sonde_sqlite;

int sonde_sqlite_load(void)
{
	static int loaded;
	if (loaded)
		return 0;
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return sonde_error(ENOSYS,
				   "queries need SQLite (" LIBRARY ", Debian's libsqlite3-0), which is not installed");
	const char *missing = NULL;
#define FIND(name)                                                                           \
	sonde_sqlite.name = (__typeof__(sonde_sqlite.name))dlsym(library, "sqlite3_" #name); \
	if (!sonde_sqlite.name)                                                              \
		missing = "sqlite3_" #name;
	SONDE_SQLITE_FUNCTIONS(FIND)
#undef FIND
	if (missing) {
		dlclose(library);
		return sonde_error(ENOSYS, LIBRARY " has no %s: queries need SQLite 3.31 or newer", missing);
	}
	sonde_sqlite.config(SQLITE_CONFIG_MEMSTATUS, 1); /* memory limits need its memory statistics */
	loaded = 1;
	return 0;
}
