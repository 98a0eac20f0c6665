/* demangle.c: libiberty with the limits that hostile names need.
 *
 * libiberty bounds its own recursion (2048); names beyond NAME_MAX_B are left as they are, because the readable form of
 * a mangled name may be exponentially longer. Suffixes that compilers append (".cold", ".part.0", ".llvm.123") are kept
 * by it in brackets.
 */
#include "symbol/demangle.h"

#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#define NAME_MAX_B 8192

char *sonde_demangle(const char *name)
{
	int could_be = (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D' || name[1] == '_')) ||
		       !strncmp(name, "_GLOBAL_", 8);
	if (!could_be || strnlen(name, NAME_MAX_B) == NAME_MAX_B)
		return NULL;
	return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
}
