/* objects.c: finds the objects that the dynamic loader has loaded, and their functions, by the objects' own tables.
 *
 * A call is bound to the first definition in the scope of the object that was opened (dlopen): that object and all its
 * dependencies, breadth first. The loader does not record which object was opened. But its list is in load order, so if
 * an earlier object needs this one, it is taken as the one that caused the loading; otherwise this object itself was
 * opened. After that scope come objects opened for all (RTLD_GLOBAL), which cannot be distinguished from others; they
 * are searched last, in list order, since few objects call functions outside their dependencies.
 *
 * The tables are the loader's and are trusted.
 */
#include "inject/hook/objects.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "inject/hook/bounds.h"
#include "inject/hook/machine.h"
#include "inject/hook/next.h"
#include "inject/hook/symbols.h"

#define SCOPE_MOST 64u
#define LOADERS_MOST 32u
#define PAGE_B 4096u

/* --- functions --------------------------------------------------------------------------------------------------- */

static void *find_in(const struct inject_object *object, const struct inject_symbols *tables, const char *text)
{
	struct inject_symbol_name name = inject_symbols_name(text);
	const ElfW(Sym) *symbol = inject_symbols_find(tables, &name);
	if (!symbol || inject_symbols_type(symbol) == STT_GNU_IFUNC)
		return NULL;
	return (void *)(object->base + symbol->st_value); /* NOLINT: it is one */
}

void *inject_objects_function(const struct inject_object *object, const char *name)
{
	struct inject_symbols tables;
	inject_symbols_read(object->base, object->dynamic, &tables);
	return find_in(object, &tables, name);
}

/* --- the list ---------------------------------------------------------------------------------------------------- */

static struct inject_object object_of(const struct dl_phdr_info *info)
{
	struct inject_object object = {.base = info->dlpi_addr, .path = info->dlpi_name ? info->dlpi_name : ""};
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			object.dynamic = (const ElfW(Dyn) *)(object.base + info->dlpi_phdr[i].p_vaddr); /* NOLINT */
	return object;
}

static int is_ours(const struct inject_object *object)
{
	return inject_bounds_have((uintptr_t)object->dynamic);
}

static struct inject_objects_count count_of(const struct dl_phdr_info *info, size_t info_b)
{
	struct inject_objects_count count = {.is_known = 0};
	if (info_b >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		count = (struct inject_objects_count){info->dlpi_adds, info->dlpi_subs, 1};
	return count;
}

/* Uses the C library's function: a sanitizer's cannot be called before the sanitizer is initialised. It needs an
 * aligned stack, which a hook's caller may not have. */
INJECT_HANDLER int inject_objects_each(int (*visit)(struct dl_phdr_info *info, size_t info_b, void *data), void *data)
{
	typedef int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	static _Atomic(iterate) known;
	iterate each = atomic_load_explicit(&known, memory_order_relaxed);
	if (!each) {
		each = (iterate)inject_next_last("dl_iterate_phdr");
		atomic_store_explicit(&known, each, memory_order_relaxed);
	}
	return each ? each(visit, data) : 0;
}

struct hold {
	void (*visit)(const struct inject_objects_count *count, void *data);
	void *data;
};

static int visit_first(struct dl_phdr_info *info, size_t info_b, void *data)
{
	const struct hold *hold = data;
	struct inject_objects_count count = count_of(info, info_b);
	hold->visit(&count, hold->data);
	return 1;
}

int inject_objects_hold(void (*visit)(const struct inject_objects_count *count, void *data), void *data)
{
	struct hold hold = {visit, data};
	return inject_objects_each(visit_first, &hold) == 1;
}

static void take_count(const struct inject_objects_count *count, void *data)
{
	*(struct inject_objects_count *)data = *count;
}

void inject_objects_counted(struct inject_objects_count *out)
{
	*out = (struct inject_objects_count){.is_known = 0};
	inject_objects_hold(take_count, out);
}

struct range_list {
	struct inject_objects_range *ranges;
	uint32_t most, count;
	struct inject_objects_count counted;
};

static int take_range(struct dl_phdr_info *info, size_t info_b, void *data)
{
	struct range_list *list = data;
	struct inject_objects_range range = {UINTPTR_MAX, 0};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD)
			continue;
		range.start = start < range.start ? start & ~(uintptr_t)(PAGE_B - 1) : range.start;
		range.end = start + segment->p_memsz > range.end ? start + segment->p_memsz : range.end;
	}
	if (list->count < list->most)
		list->ranges[list->count] = range;
	list->count++;
	list->counted = count_of(info, info_b);
	return 0;
}

uint32_t inject_objects_ranges(struct inject_objects_range *out, uint32_t most, struct inject_objects_count *count)
{
	struct range_list list = {.ranges = out, .most = most};
	inject_objects_each(take_range, &list);
	*count = list.counted;
	return list.count;
}

struct search {
	uintptr_t address;
	const char *name; /* as in DT_NEEDED */
	struct inject_object found;
};

static int has_address(struct dl_phdr_info *info, size_t info_b, void *data)
{
	struct search *search = data;
	(void)info_b;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD ||
		    search->address - info->dlpi_addr - segment->p_vaddr >= segment->p_memsz)
			continue;
		search->found = object_of(info);
		return 1;
	}
	return 0;
}

int inject_objects_find(uintptr_t address, struct inject_object *out)
{
	struct search search = {.address = address};
	if (inject_objects_each(has_address, &search) != 1)
		return 0;
	*out = search.found;
	return 1;
}

/* --- dependencies ------------------------------------------------------------------------------------------------ */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int is_called(const struct inject_object *object, const struct inject_symbols *tables, const char *needed)
{
	if (tables->name && tables->strings && !strcmp(tables->strings + tables->name, needed))
		return 1;
	return *object->path && !strcmp(last_part(object->path), last_part(needed));
}

static int has_name(struct dl_phdr_info *info, size_t info_b, void *data)
{
	struct search *search = data;
	struct inject_object object = object_of(info);
	struct inject_symbols tables;
	(void)info_b;
	inject_symbols_read(object.base, object.dynamic, &tables);
	if (!object.dynamic || !is_called(&object, &tables, search->name))
		return 0;
	search->found = object;
	return 1;
}

struct climb {
	const struct inject_object *from;
	struct inject_symbols tables;
	struct inject_object loader;
};

/* Callback of inject_objects_each(). Ends the walk at the first object that needs climb->from, which it stores in
 * climb->loader, or at climb->from itself. */
static int has_loaded(struct dl_phdr_info *info, size_t info_b, void *data)
{
	struct climb *climb = data;
	struct inject_object object = object_of(info);
	struct inject_symbols tables;
	(void)info_b;
	if (!object.dynamic || object.dynamic == climb->from->dynamic)
		return object.dynamic != NULL;
	inject_symbols_read(object.base, object.dynamic, &tables);
	for (const ElfW(Dyn) *entry = object.dynamic; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_NEEDED &&
		    is_called(climb->from, &climb->tables, tables.strings + entry->d_un.d_val)) {
			climb->loader = object;
			return 1;
		}
	return 0;
}

/* The object whose opening loaded this one. */
static struct inject_object root_of(struct inject_object object)
{
	for (uint32_t i = 0; i < LOADERS_MOST; i++) {
		struct climb climb = {.from = &object};
		inject_symbols_read(object.base, object.dynamic, &climb.tables);
		inject_objects_each(has_loaded, &climb);
		if (!climb.loader.dynamic)
			break;
		object = climb.loader;
	}
	return object;
}

/* --- binding ----------------------------------------------------------------------------------------------------- */

struct binding {
	const char *const *names;
	void **out;
	uint32_t count, left;
};

/* Takes the missing functions that this object defines; true if none is missing any more. */
static int take_from(struct binding *binding, const struct inject_object *object)
{
	struct inject_symbols tables;
	if (!object->dynamic || is_ours(object))
		return 0;
	inject_symbols_read(object->base, object->dynamic, &tables);
	for (uint32_t i = 0; i < binding->count; i++) {
		if (binding->out[i])
			continue;
		binding->out[i] = find_in(object, &tables, binding->names[i]);
		binding->left -= binding->out[i] != NULL;
	}
	return !binding->left;
}

static int take_from_any(struct dl_phdr_info *info, size_t info_b, void *data)
{
	struct inject_object object = object_of(info);
	(void)info_b;
	return take_from(data, &object);
}

static int is_among(const struct inject_object *objects, uint32_t count, const struct inject_object *object)
{
	while (count && objects[count - 1].dynamic != object->dynamic)
		count--;
	return count != 0;
}

/* True if no function is missing any more. */
static int take_from_scope(struct binding *binding, const struct inject_object *root)
{
	struct inject_object scope[SCOPE_MOST] = {*root};
	uint32_t count = 1;
	if (take_from(binding, root))
		return 1;
	for (uint32_t i = 0; i < count; i++) {
		struct inject_symbols tables;
		inject_symbols_read(scope[i].base, scope[i].dynamic, &tables);
		for (const ElfW(Dyn) *entry = scope[i].dynamic; entry->d_tag != DT_NULL; entry++) {
			struct search search = {.name = tables.strings + entry->d_un.d_val};
			if (entry->d_tag != DT_NEEDED || count == SCOPE_MOST)
				continue;
			inject_objects_each(has_name, &search);
			if (!search.found.dynamic || is_among(scope, count, &search.found))
				continue;
			scope[count++] = search.found;
			if (take_from(binding, &search.found))
				return 1;
		}
	}
	return 0;
}

void inject_objects_bind(const struct inject_object *from, const char *const *names, uint32_t count, void **out)
{
	struct binding binding = {names, out, count, 0};
	for (uint32_t i = 0; i < count; i++)
		binding.left += !out[i];
	if (!binding.left)
		return;
	if (from->dynamic) {
		struct inject_object root = root_of(*from);
		if (take_from_scope(&binding, &root) || take_from(&binding, from))
			return;
	}
	inject_objects_each(take_from_any, &binding);
}
