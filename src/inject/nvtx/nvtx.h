/* nvtx.h: records a program's NVTX annotations with libsonde: pushed ranges as zones, started ranges as spans, marks as
 * instants. nvtx/entry.c receives the calls, nvtx/names.c manages names, nvtx/ranges.c open ranges.
 *
 * The object is loaded by the program's own NVTX at its first call, and linked with libsonde. Nothing here takes a lock
 * or calls malloc (except pthread_setspecific(), once per thread, if the program has many keys). Memory is bounded:
 * names that do not fit are reduced to their form, with # for digits, and the full text becomes the zone's own text.
 */
#ifndef SONDE_INJECT_NVTX_NVTX_H
#define SONDE_INJECT_NVTX_NVTX_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "inject/nvtx/abi.h"
#include "sonde/sonde.h"

#define NVTX_WIDE_B 1024u /* size of a wide text in UTF-8 */
#define NVTX_TEXT_MAX_B 4095u
#define NVTX_DOMAIN_OF_ALL 0u /* domain of calls without a domain */

/* --- nvtx/text.c: texts, independent of libsonde --------------------------------------------------------------- */

/* Converts to UTF-8 with a NUL, cut between characters; invalid characters become U+FFFD. Returns the bytes without the
 * NUL. */
size_t nvtx_text_utf8(char *out, size_t out_b, const wchar_t *text);
/* Length of the text, cut to at most max_b bytes between characters. */
size_t nvtx_text_cut(const char *text, size_t text_b, size_t max_b);
/* Replaces each run of digits by #; returns the bytes, without a NUL. */
size_t nvtx_text_form(char *out, size_t out_b, const char *text, size_t text_b);
/* Length of the actual name: PyTorch appends a number to each ("aten::mm, seq = 12, op_id = 7"). */
size_t nvtx_text_bare(const char *text, size_t text_b);
uint64_t nvtx_text_hash(uint64_t seed, const char *text, size_t text_b);

/* --- nvtx/names.c -------------------------------------------------------------------------------------------------*/

enum nvtx_kind { NVTX_NAME_ZONE, NVTX_NAME_CONTINUED, NVTX_NAME_SPAN, NVTX_NAME_INSTANT, NVTX_NAME_STRING };

/* A unique text of a domain; never freed. */
struct nvtx_name {
	struct sonde_place place; /* its name includes the domain as a prefix */
	uint64_t hash;
	uint32_t domain;
	uint16_t kind;                    /* enum nvtx_kind */
	uint16_t key_b;                   /* length of the original text */
	_Atomic(struct nvtx_name *) zone; /* for a string: the name of its zones, once used */
	char *key;
};

/* Contents of an annotation: a text, possibly with attributes. Borrowed from the caller during a call. */
struct nvtx_attributes {
	const char *text;
	size_t text_b;
	struct nvtx_name *string; /* the text, if it was registered */
	uint32_t category, color; /* 0 = none */
	int32_t payload_type;
	union nvtx_payload_value payload;
};

/* The name for an annotation; never NULL. *is_whole: the name contains all of the text. */
struct nvtx_name *nvtx_name_of(enum nvtx_kind kind, uint32_t domain, const struct nvtx_attributes *attributes,
			       int *is_whole);
/* The name for the remainder of a zone that had to be ended early; never NULL. */
struct nvtx_name *nvtx_name_continued(const struct nvtx_name *zone);
/* Registers a string; NULL = no room. */
struct nvtx_name *nvtx_string_new(uint32_t domain, const char *text, size_t text_b);
/* The string of a handle; NULL = not a handle of ours. */
struct nvtx_name *nvtx_string_of(const void *handle);

/* Returns a handle, never NULL. A new domain reuses a destroyed one of the same name. */
void *nvtx_domain_new(const char *name, size_t name_b);
void nvtx_domain_destroy(void *handle);
/* The number of a domain; the default domain's for anything that is not a handle of ours. */
uint32_t nvtx_domain_of(const void *handle);

void nvtx_category_set(uint32_t domain, uint32_t category, const char *name, size_t name_b);
/* The name that the program has given to a category; NULL = none. */
const char *nvtx_category_name(uint32_t domain, uint32_t category);

/* --- nvtx/ranges.c ------------------------------------------------------------------------------------------------*/

/* Begin and end a pushed range. Both return its level within the domain, from 0; negative: an error, or levels are not
 * tracked. */
int nvtx_push(uint32_t domain, const struct nvtx_attributes *attributes);
int nvtx_pop(uint32_t domain);
/* Returns the id that ends the range, in any thread; 0 = nothing is recorded. */
uint64_t nvtx_start(uint32_t domain, const struct nvtx_attributes *attributes);
void nvtx_end(uint64_t id);
void nvtx_mark(uint32_t domain, const struct nvtx_attributes *attributes);
/* A thread other than the caller gets its name at its own next annotation. */
void nvtx_name_thread(uint32_t tid, const char *name, size_t name_b);
/* True if the state of threads and forks could be set up; otherwise nothing is recorded. */
int nvtx_is_ready(void);
/* True if annotations are being recorded. */
static inline int nvtx_is_on(void)
{
	return !SONDE_HOT_LOAD(sonde_hot_self->off);
}

#endif
