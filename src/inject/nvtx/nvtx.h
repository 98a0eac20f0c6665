/* nvtx.h: annotations that programs have for NVTX, recorded by libsonde: pushed ranges as zones, started ones as spans,
 * marks as instants. nvtx/entry.c takes the calls, nvtx/names.c knows names, nvtx/ranges.c what is open.
 *
 * The object is loaded by the program's own NVTX at its first call, and linked with libsonde. Nothing here takes a lock
 * or calls malloc (but pthread_setspecific(), once in a thread, where the program has many keys). What is kept is
 * bounded: names that find no room go by their form, with # for digits, and what was said is their own text.
 */
#ifndef SONDE_INJECT_NVTX_NVTX_H
#define SONDE_INJECT_NVTX_NVTX_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "inject/nvtx/abi.h"
#include "sonde/sonde.h"

#define NVTX_WIDE_B 1024u /* of a wide text in UTF-8 */
#define NVTX_TEXT_MAX_B 4095u
#define NVTX_DOMAIN_OF_ALL 0u /* that of calls which name none */

/* --- nvtx/text.c: texts, without anything of libsonde -------------------------------------------------------------*/

/* As UTF-8 with a NUL, cut between characters; what is none becomes U+FFFD. Bytes without the NUL. */
size_t nvtx_text_utf8(char *out, size_t out_b, const wchar_t *text);
/* At most max_b bytes, cut between characters. */
size_t nvtx_text_cut(const char *text, size_t text_b, size_t max_b);
/* With # for each row of digits; bytes, without a NUL. */
size_t nvtx_text_form(char *out, size_t out_b, const char *text, size_t text_b);
/* Bytes of it that are a name: PyTorch appends a number to each ("aten::mm, seq = 12, op_id = 7"). */
size_t nvtx_text_bare(const char *text, size_t text_b);
uint64_t nvtx_text_hash(uint64_t seed, const char *text, size_t text_b);

/* --- nvtx/names.c -------------------------------------------------------------------------------------------------*/

enum nvtx_kind { NVTX_NAME_ZONE, NVTX_NAME_CONTINUED, NVTX_NAME_SPAN, NVTX_NAME_INSTANT, NVTX_NAME_STRING };

/* A text of a domain, once; never freed. */
struct nvtx_name {
	struct sonde_place place; /* name: with the domain before it */
	uint64_t hash;
	uint32_t domain;
	uint16_t kind;                    /* enum nvtx_kind */
	uint16_t key_b;                   /* of the text as it was given */
	_Atomic(struct nvtx_name *) zone; /* of a string: the name of its zones, once there was one */
	char *key;
};

/* What was said: by a text, or with more. Borrowed from the caller for a call. */
struct nvtx_said {
	const char *text;
	size_t text_b;
	struct nvtx_name *string; /* the text, where it was registered */
	uint32_t category, color; /* 0 = none */
	int32_t payload_type;
	union nvtx_payload_value payload;
};

/* Never NULL. `is_whole`: the name says all of the text. */
struct nvtx_name *nvtx_name_of(enum nvtx_kind kind, uint32_t domain, const struct nvtx_said *said, int *is_whole);
/* How the rest of a zone is called that had to be ended before its time; never NULL. */
struct nvtx_name *nvtx_name_continued(const struct nvtx_name *zone);
/* NULL = there is no room. */
struct nvtx_name *nvtx_string_new(uint32_t domain, const char *text, size_t text_b);
/* What a handle leads to; NULL = nothing that we gave out. */
struct nvtx_name *nvtx_string_of(const void *handle);

/* A handle; never NULL. Those of one name are one domain again after the first was destroyed. */
void *nvtx_domain_new(const char *name, size_t name_b);
void nvtx_domain_destroy(void *handle);
/* Its number; that of all for what is no handle of ours. */
uint32_t nvtx_domain_of(const void *handle);

void nvtx_category_set(uint32_t domain, uint32_t category, const char *name, size_t name_b);
/* NULL = it has no name. */
const char *nvtx_category_name(uint32_t domain, uint32_t category);

/* --- nvtx/ranges.c ------------------------------------------------------------------------------------------------*/

/* The level within the domain, from 0; negative: an error, or it is not counted. */
int nvtx_push(uint32_t domain, const struct nvtx_said *said);
int nvtx_pop(uint32_t domain);
/* What ends it, in any thread; 0 = nothing is recorded. */
uint64_t nvtx_start(uint32_t domain, const struct nvtx_said *said);
void nvtx_end(uint64_t id);
void nvtx_mark(uint32_t domain, const struct nvtx_said *said);
/* A thread other than the caller has its name from its own next annotation on. */
void nvtx_name_thread(uint32_t tid, const char *name, size_t name_b);
/* 0 = nothing can be kept here. */
int nvtx_is_ready(void);
/* Whether what is said now can be recorded. */
static inline int nvtx_is_on(void)
{
	return !SONDE_HOT_LOAD(sonde_hot_self->off);
}

#endif
