/* names.c: names, registered strings, domains and categories of annotations (nvtx/nvtx.h).
 *
 * All texts are in one hash table that only grows: one atomic load and a comparison find an existing name by its
 * contents. A new name is written to the end of its region and put into the table by one exchange. If two threads add
 * the same name at the same time, the first one in the table is used and the other's memory is wasted. A recording
 * accepts about 4000 of our sites, half of its capacity. Beyond that, names are reduced to their form, and then to one
 * common name.
 */
#include <string.h>

#include "inject/nvtx/nvtx.h"

#define SLOTS 16384u
#define DOMAINS 256u
#define DOMAIN_NAME_B 64u
#define CATEGORIES 1024u
#define CONTINUED " (continued)"
#define KEY_MAX_B (255u - DOMAIN_NAME_B - 2u - sizeof(CONTINUED))
#define STRING_ID UINT64_C(0x6e767478537472) /* place.id of a string: distinguishes our handles from others */

/* Regions for names, for forms of names, and for strings: no kind uses another's memory. */
enum { FOR_NAMES, FOR_FORMS, FOR_STRINGS, REGIONS };
static const uint32_t region_from[] = {0, 384u << 10, 512u << 10, 1536u << 10};
static _Alignas(64) char heap[1536u << 10];
static _Atomic uint32_t region_used[REGIONS];
static _Atomic(struct nvtx_name *) table[SLOTS];

enum { DOMAIN_FREE, DOMAIN_WRITING, DOMAIN_USED, DOMAIN_DESTROYED };
static struct domain {
	_Atomic uint32_t state;
	uint32_t name_b;
	char name[DOMAIN_NAME_B + 1];
} domains[DOMAINS] = {
    [NVTX_DOMAIN_OF_ALL] = {.state = DOMAIN_USED},
    [DOMAINS - 1] = {.state = DOMAIN_USED, .name_b = 15, .name = "(other domains)"},
};

static struct {
	_Atomic uint64_t key; /* domain and category, + 1 */
	_Atomic(const char *) name;
} categories[CATEGORIES];

static const struct {
	uint32_t site;
	const char *suffix;
} kinds[] = {
    [NVTX_NAME_ZONE] = {SONDE_KIND_ZONE, ""},
    [NVTX_NAME_CONTINUED] = {SONDE_KIND_ZONE, CONTINUED},
    [NVTX_NAME_SPAN] = {SONDE_KIND_SPAN, ""},
    [NVTX_NAME_INSTANT] = {SONDE_KIND_INSTANT, ""},
};

#define OTHER(kind_of, site)                                                                                   \
	[kind_of] = {                                                                                          \
	    .place = {.id = SONDE_PLACE_NEW, .name = "(other names of NVTX)", .unit = "nvtx", .kind = (site)}, \
	    .kind = (kind_of),                                                                                 \
	    .key = no_key}
static char no_key[] = "";
static struct nvtx_name others[] = {
    OTHER(NVTX_NAME_ZONE, SONDE_KIND_ZONE),
    OTHER(NVTX_NAME_CONTINUED, SONDE_KIND_ZONE),
    OTHER(NVTX_NAME_SPAN, SONDE_KIND_SPAN),
    OTHER(NVTX_NAME_INSTANT, SONDE_KIND_INSTANT),
};

/* A text to look up. */
struct key {
	uint64_t hash;
	const char *text;
	size_t text_b;
	uint32_t domain;
	enum nvtx_kind kind;
};

/* --- the table ---------------------------------------------------------------------------------------------------- */

static struct key key_of(enum nvtx_kind kind, uint32_t domain, const char *text, size_t text_b)
{
	uint64_t seed = ((uint64_t)domain << 8 | kind) * 0xd6e8feb86659fd93u;
	return (struct key){nvtx_text_hash(seed, text, text_b), text, text_b, domain, kind};
}

static int is_same(const struct nvtx_name *name, const struct key *key)
{
	return name->hash == key->hash && name->key_b == key->text_b && name->domain == key->domain &&
	       name->kind == (uint16_t)key->kind && !memcmp(name->key, key->text, key->text_b);
}

/* The slot of the key, or the free slot where it belongs; NULL = neither. */
static _Atomic(struct nvtx_name *) *slot_of(const struct key *key)
{
	for (uint32_t i = 0, at = (uint32_t)key->hash % SLOTS; i < SLOTS; i++, at = (at + 1) % SLOTS) {
		struct nvtx_name *name = atomic_load_explicit(&table[at], memory_order_acquire);
		if (!name || is_same(name, key))
			return &table[at];
	}
	return NULL;
}

static void *reserve(unsigned region, size_t size_b)
{
	uint32_t room_b = region_from[region + 1] - region_from[region];
	size_b = (size_b + 15) & ~(size_t)15;
	uint32_t at = atomic_load_explicit(&region_used[region], memory_order_relaxed);
	do {
		if (size_b > room_b - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&region_used[region], &at, at + (uint32_t)size_b));
	return heap + region_from[region] + at;
}

static struct nvtx_name *name_new(unsigned region, const struct key *key, uint32_t color)
{
	const struct domain *domain = &domains[key->domain];
	int is_string = key->kind == NVTX_NAME_STRING;
	const char *suffix = is_string ? "" : kinds[key->kind].suffix;
	size_t prefix_b = !is_string && domain->name_b ? domain->name_b + 2 : 0;
	struct nvtx_name *name = reserve(region, sizeof(*name) + prefix_b + key->text_b + strlen(suffix) + 1);
	if (!name)
		return NULL;
	char *text = (char *)(name + 1);
	memcpy(text, domain->name, prefix_b ? domain->name_b : 0);
	memcpy(text + (prefix_b ? domain->name_b : 0), ": ", prefix_b ? 2 : 0);
	memcpy(text + prefix_b, key->text, key->text_b);
	memcpy(text + prefix_b + key->text_b, suffix, strlen(suffix) + 1);
	*name = (struct nvtx_name){.hash = key->hash, .domain = key->domain, .kind = (uint16_t)key->kind};
	name->key_b = (uint16_t)key->text_b;
	name->key = text + prefix_b;
	name->place = (struct sonde_place){.id = SONDE_PLACE_NEW, .name = text, .unit = "nvtx", .color = color};
	if (is_string)
		name->place.id = STRING_ID;
	else
		name->place.kind = kinds[key->kind].site;
	return name;
}

/* The name with this key, added if it is new; NULL = no room. */
static struct nvtx_name *intern(unsigned region, const struct key *key, uint32_t color)
{
	struct nvtx_name *fresh = NULL;
	for (;;) {
		_Atomic(struct nvtx_name *) *slot = slot_of(key);
		struct nvtx_name *found = slot ? atomic_load_explicit(slot, memory_order_acquire) : NULL;
		if (found || !slot)
			return found;
		if (!fresh && !(fresh = name_new(region, key, color)))
			return NULL;
		if (atomic_compare_exchange_strong(slot, &found, fresh))
			return fresh;
	}
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static struct nvtx_name *by_form(enum nvtx_kind kind, uint32_t domain, const char *text, size_t text_b)
{
	char form[KEY_MAX_B];
	struct key key = key_of(kind, domain, form, nvtx_text_form(form, sizeof(form), text, text_b));
	struct nvtx_name *name = intern(FOR_FORMS, &key, 0);
	return name ? name : &others[kind];
}

struct nvtx_name *nvtx_name_of(enum nvtx_kind kind, uint32_t domain, const struct nvtx_attributes *attributes,
			       int *is_whole)
{
	struct nvtx_name *string = attributes->string, *name;
	*is_whole = 1;
	if (string && kind == NVTX_NAME_ZONE && string->domain == domain &&
	    (name = atomic_load_explicit(&string->zone, memory_order_acquire)))
		return name;
	size_t key_b =
	    domain == NVTX_DOMAIN_OF_ALL ? nvtx_text_bare(attributes->text, attributes->text_b) : attributes->text_b;
	key_b = nvtx_text_cut(attributes->text, key_b, KEY_MAX_B);
	*is_whole = key_b == attributes->text_b;
	struct key key = key_of(kind, domain, attributes->text, key_b);
	name = intern(FOR_NAMES, &key, attributes->color);
	if (!name) {
		name = by_form(kind, domain, attributes->text, key_b);
		*is_whole =
		    name->key_b == attributes->text_b && !memcmp(name->key, attributes->text, attributes->text_b);
	}
	if (string && kind == NVTX_NAME_ZONE && string->domain == domain && *is_whole)
		atomic_store_explicit(&string->zone, name, memory_order_release);
	return name;
}

struct nvtx_name *nvtx_name_continued(const struct nvtx_name *zone)
{
	struct key key = key_of(NVTX_NAME_CONTINUED, zone->domain, zone->key, zone->key_b);
	struct nvtx_name *name = zone->key_b ? intern(FOR_NAMES, &key, zone->place.color) : NULL;
	return name ? name : by_form(NVTX_NAME_CONTINUED, zone->domain, zone->key, zone->key_b);
}

struct nvtx_name *nvtx_string_new(uint32_t domain, const char *text, size_t text_b)
{
	struct key key = key_of(NVTX_NAME_STRING, domain, text, text_b);
	return intern(FOR_STRINGS, &key, 0);
}

struct nvtx_name *nvtx_string_of(const void *handle)
{
	uintptr_t at = (uintptr_t)handle - (uintptr_t)heap;
	if (at < region_from[FOR_STRINGS] || at > sizeof(heap) - sizeof(struct nvtx_name) || at % 16)
		return NULL;
	struct nvtx_name *name = (struct nvtx_name *)(void *)(heap + at);
	return name->place.id == STRING_ID && name->kind == NVTX_NAME_STRING ? name : NULL;
}

/* --- domains ------------------------------------------------------------------------------------------------------ */

static int domain_take_again(struct domain *domain, const char *name, size_t name_b)
{
	uint32_t state = atomic_load(&domain->state);
	return state == DOMAIN_DESTROYED && domain->name_b == name_b && !memcmp(domain->name, name, name_b) &&
	       atomic_compare_exchange_strong(&domain->state, &state, DOMAIN_USED);
}

static int domain_take(struct domain *domain, const char *name, size_t name_b)
{
	uint32_t state = DOMAIN_FREE;
	if (!atomic_compare_exchange_strong(&domain->state, &state, DOMAIN_WRITING))
		return 0;
	memcpy(domain->name, name, name_b);
	domain->name_b = (uint32_t)name_b;
	atomic_store(&domain->state, DOMAIN_USED);
	return 1;
}

void *nvtx_domain_new(const char *name, size_t name_b)
{
	name_b = nvtx_text_cut(name, name_b, DOMAIN_NAME_B);
	for (uint32_t i = 1; i < DOMAINS - 1; i++)
		if (domain_take_again(&domains[i], name, name_b))
			return &domains[i];
	for (uint32_t i = 1; i < DOMAINS - 1; i++)
		if (domain_take(&domains[i], name, name_b))
			return &domains[i];
	return &domains[DOMAINS - 1];
}

uint32_t nvtx_domain_of(const void *handle)
{
	uintptr_t at = (uintptr_t)handle - (uintptr_t)domains;
	return at < sizeof(domains) && at % sizeof(*domains) == 0 ? (uint32_t)(at / sizeof(*domains)) : 0;
}

void nvtx_domain_destroy(void *handle)
{
	uint32_t index = nvtx_domain_of(handle), state = DOMAIN_USED;
	if (index && index < DOMAINS - 1)
		atomic_compare_exchange_strong(&domains[index].state, &state, DOMAIN_DESTROYED);
}

/* --- categories --------------------------------------------------------------------------------------------------- */

/* The index of a category, or with `is_new` of a free entry claimed for it; CATEGORIES = none. */
static uint32_t category_at(uint32_t domain, uint32_t category, int is_new)
{
	uint64_t wanted = ((uint64_t)domain << 32 | category) + 1;
	for (uint32_t i = 0, at = (category * 31u + domain) % CATEGORIES; i < CATEGORIES;
	     i++, at = (at + 1) % CATEGORIES) {
		uint64_t key = atomic_load_explicit(&categories[at].key, memory_order_acquire);
		if (!key && is_new && atomic_compare_exchange_strong(&categories[at].key, &key, wanted))
			return at;
		if (key == wanted)
			return at;
		if (!key)
			return CATEGORIES;
	}
	return CATEGORIES;
}

void nvtx_category_set(uint32_t domain, uint32_t category, const char *name, size_t name_b)
{
	struct nvtx_name *string = nvtx_string_new(domain, name, nvtx_text_cut(name, name_b, KEY_MAX_B));
	uint32_t at = string ? category_at(domain, category, 1) : CATEGORIES;
	if (at < CATEGORIES)
		atomic_store_explicit(&categories[at].name, string->place.name, memory_order_release);
}

const char *nvtx_category_name(uint32_t domain, uint32_t category)
{
	uint32_t at = category_at(domain, category, 0);
	return at < CATEGORIES ? atomic_load_explicit(&categories[at].name, memory_order_acquire) : NULL;
}
