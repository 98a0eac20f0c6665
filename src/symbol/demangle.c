/* demangle.c: demangles with libiberty, within the limits that hostile names require.
 *
 * A mangled name can refer back to its own parts by number, so the readable form can be exponentially longer: a
 * 170-byte symbol of a kernel expands to 500 MB. libiberty bounds its recursion (2048) but not its output, so we take
 * the output in pieces through a callback. Once the pieces exceed TEXT_MAX_B, we abandon the call, which has allocated
 * nothing. Names longer than NAME_MAX_B stay mangled. libiberty keeps the suffixes that compilers append (".cold",
 * ".part.0", ".llvm.123") in brackets.
 */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "util/buf.h"

enum { NAME_MAX_B = 8192, TEXT_MAX_B = 65536, OPTIONS = DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO };

struct readable {
	struct sonde_buf text;
	jmp_buf too_long;
};

static void take(const char *piece, size_t piece_b, void *into)
{
	struct readable *readable = into;
	if (sonde_buf_append(&readable->text, piece, piece_b))
		longjmp(readable->too_long, 1);
}

typedef int demangler(const char *mangled, int options, demangle_callbackref take, void *into);

/* Returns 1 if `readable` holds the text. */
static int read_by(demangler *demangle, const char *name, struct readable *readable)
{
	sonde_buf_clear(&readable->text);
	if (setjmp(readable->too_long))
		return 0;
	return demangle(name, OPTIONS, take, readable) && !sonde_buf_append(&readable->text, "", 1);
}

char *sonde_demangle(const char *name)
{
	int could_be = (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D' || name[1] == '_')) ||
		       !strncmp(name, "_GLOBAL_", 8);
	struct readable readable;
	if (!could_be || strnlen(name, NAME_MAX_B) == NAME_MAX_B)
		return NULL;
	sonde_buf_init(&readable.text, TEXT_MAX_B);
	/* Same order as cplus_demangle(), because legacy Rust names look like C++ names. */
	if (read_by(rust_demangle_callback, name, &readable) ||
	    (!sonde_buf_error(&readable.text) && read_by(cplus_demangle_v3_callback, name, &readable)))
		return (char *)readable.text.data;
	sonde_buf_fini(&readable.text);
	return NULL;
}
