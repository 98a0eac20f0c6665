/* entry.c: the functions that a program's NVTX calls, and how they are registered (nvtx/nvtx.h, nvtx/abi.h).
 *
 * Texts are read in place during the call; of a structure only the declared size is read. Calls without a domain use
 * the default domain, which adds nothing to names.
 */
#include <errno.h>
#include <string.h>

#include "inject/nvtx/nvtx.h"

#define UNNAMED "(unnamed)"
#define HAS(event, field) ((event)->size >= offsetof(struct nvtx_event, field) + sizeof((event)->field))

/* --- contents of annotations -------------------------------------------------------------------------------------- */

static struct nvtx_attributes of_text(const char *text, size_t text_b)
{
	return (struct nvtx_attributes){.text = text_b ? text : UNNAMED,
					.text_b = text_b ? text_b : sizeof(UNNAMED) - 1};
}

static struct nvtx_attributes of_ascii(const char *text)
{
	return of_text(text, text ? strnlen(text, NVTX_TEXT_MAX_B) : 0);
}

static struct nvtx_attributes of_wide(char capacity[NVTX_WIDE_B], const wchar_t *text)
{
	return of_text(capacity, text ? nvtx_text_utf8(capacity, NVTX_WIDE_B, text) : 0);
}

static struct nvtx_attributes of_registered(const void *handle)
{
	struct nvtx_name *string = nvtx_string_of(handle);
	struct nvtx_attributes attributes = string ? of_text(string->key, string->key_b) : of_text(NULL, 0);
	attributes.string = string;
	return attributes;
}

static struct nvtx_attributes of_message(char capacity[NVTX_WIDE_B], const struct nvtx_event *event)
{
	switch (event->message_type) {
	case NVTX_MESSAGE_ASCII:
		return of_ascii(event->message.ascii);
	case NVTX_MESSAGE_WIDE:
		return of_wide(capacity, event->message.wide);
	case NVTX_MESSAGE_IS_REGISTERED:
		return of_registered(event->message.registered);
	default:
		return of_text(NULL, 0);
	}
}

static struct nvtx_attributes of_event(char capacity[NVTX_WIDE_B], const struct nvtx_event *event)
{
	struct nvtx_attributes attributes =
	    event && HAS(event, message) ? of_message(capacity, event) : of_text(NULL, 0);
	if (!event)
		return attributes;
	if (HAS(event, category))
		attributes.category = event->category;
	if (HAS(event, color) && event->color_type == NVTX_COLOR_IS_ARGB)
		attributes.color = event->color & 0xffffffu;
	if (HAS(event, payload)) {
		attributes.payload_type = event->payload_type;
		attributes.payload = event->payload;
	}
	return attributes;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static int push_in(const void *domain, const struct nvtx_event *event)
{
	char capacity[NVTX_WIDE_B];
	struct nvtx_attributes attributes = {0};
	if (nvtx_is_on())
		attributes = of_event(capacity, event);
	return nvtx_push(nvtx_domain_of(domain), &attributes);
}

static int push_ex(const struct nvtx_event *event)
{
	return push_in(NULL, event);
}

static int push_a(const char *text)
{
	struct nvtx_attributes attributes = {0};
	if (nvtx_is_on())
		attributes = of_ascii(text);
	return nvtx_push(NVTX_DOMAIN_OF_ALL, &attributes);
}

static int push_w(const wchar_t *text)
{
	char capacity[NVTX_WIDE_B];
	struct nvtx_attributes attributes = {0};
	if (nvtx_is_on())
		attributes = of_wide(capacity, text);
	return nvtx_push(NVTX_DOMAIN_OF_ALL, &attributes);
}

static int pop_in(const void *domain)
{
	return nvtx_pop(nvtx_domain_of(domain));
}

static int pop(void)
{
	return nvtx_pop(NVTX_DOMAIN_OF_ALL);
}

static uint64_t start_in(const void *domain, const struct nvtx_event *event)
{
	char capacity[NVTX_WIDE_B];
	struct nvtx_attributes attributes = of_event(capacity, event);
	return nvtx_start(nvtx_domain_of(domain), &attributes);
}

static uint64_t start_ex(const struct nvtx_event *event)
{
	return start_in(NULL, event);
}

static uint64_t start_a(const char *text)
{
	struct nvtx_attributes attributes = of_ascii(text);
	return nvtx_start(NVTX_DOMAIN_OF_ALL, &attributes);
}

static uint64_t start_w(const wchar_t *text)
{
	char capacity[NVTX_WIDE_B];
	struct nvtx_attributes attributes = of_wide(capacity, text);
	return nvtx_start(NVTX_DOMAIN_OF_ALL, &attributes);
}

static void end(uint64_t id)
{
	nvtx_end(id);
}

static void end_in(const void *domain, uint64_t id)
{
	(void)domain;
	nvtx_end(id);
}

static void mark_in(const void *domain, const struct nvtx_event *event)
{
	char capacity[NVTX_WIDE_B];
	struct nvtx_attributes attributes = of_event(capacity, event);
	nvtx_mark(nvtx_domain_of(domain), &attributes);
}

static void mark_ex(const struct nvtx_event *event)
{
	mark_in(NULL, event);
}

static void mark_a(const char *text)
{
	struct nvtx_attributes attributes = of_ascii(text);
	nvtx_mark(NVTX_DOMAIN_OF_ALL, &attributes);
}

static void mark_w(const wchar_t *text)
{
	char capacity[NVTX_WIDE_B];
	struct nvtx_attributes attributes = of_wide(capacity, text);
	nvtx_mark(NVTX_DOMAIN_OF_ALL, &attributes);
}

static void thread_a(uint32_t tid, const char *name)
{
	struct nvtx_attributes attributes = of_ascii(name);
	nvtx_name_thread(tid, attributes.text, attributes.text_b);
}

static void thread_w(uint32_t tid, const wchar_t *name)
{
	char capacity[NVTX_WIDE_B];
	struct nvtx_attributes attributes = of_wide(capacity, name);
	nvtx_name_thread(tid, attributes.text, attributes.text_b);
}

static void category_in_a(const void *domain, uint32_t category, const char *name)
{
	struct nvtx_attributes attributes = of_ascii(name);
	nvtx_category_set(nvtx_domain_of(domain), category, attributes.text, attributes.text_b);
}

static void category_in_w(const void *domain, uint32_t category, const wchar_t *name)
{
	char capacity[NVTX_WIDE_B];
	struct nvtx_attributes attributes = of_wide(capacity, name);
	nvtx_category_set(nvtx_domain_of(domain), category, attributes.text, attributes.text_b);
}

static void category_a(uint32_t category, const char *name)
{
	category_in_a(NULL, category, name);
}

static void category_w(uint32_t category, const wchar_t *name)
{
	category_in_w(NULL, category, name);
}

static const void *string_a(const void *domain, const char *text)
{
	return text ? nvtx_string_new(nvtx_domain_of(domain), text, strnlen(text, NVTX_TEXT_MAX_B)) : NULL;
}

static const void *string_w(const void *domain, const wchar_t *text)
{
	char capacity[NVTX_WIDE_B];
	return text
		   ? nvtx_string_new(nvtx_domain_of(domain), capacity, nvtx_text_utf8(capacity, sizeof(capacity), text))
		   : NULL;
}

static void *create_a(const char *name)
{
	return nvtx_domain_new(name ? name : "", name ? strnlen(name, NVTX_TEXT_MAX_B) : 0);
}

static void *create_w(const wchar_t *name)
{
	char capacity[NVTX_WIDE_B];
	return nvtx_domain_new(capacity, nvtx_text_utf8(capacity, sizeof(capacity), name ? name : L""));
}

static void destroy(void *domain)
{
	nvtx_domain_destroy(domain);
}

/* --- registration ------------------------------------------------------------------------------------------------- */

#define ROW(module, number, function)                     \
	{                                                 \
		module, number, (nvtx_function)(function) \
	}
static const struct {
	uint32_t module, number;
	nvtx_function function;
} rows[] = {
    ROW(NVTX_MODULE_CORE, NVTX_MARK_EX, mark_ex),
    ROW(NVTX_MODULE_CORE, NVTX_MARK_A, mark_a),
    ROW(NVTX_MODULE_CORE, NVTX_MARK_W, mark_w),
    ROW(NVTX_MODULE_CORE, NVTX_START_EX, start_ex),
    ROW(NVTX_MODULE_CORE, NVTX_START_A, start_a),
    ROW(NVTX_MODULE_CORE, NVTX_START_W, start_w),
    ROW(NVTX_MODULE_CORE, NVTX_END, end),
    ROW(NVTX_MODULE_CORE, NVTX_PUSH_EX, push_ex),
    ROW(NVTX_MODULE_CORE, NVTX_PUSH_A, push_a),
    ROW(NVTX_MODULE_CORE, NVTX_PUSH_W, push_w),
    ROW(NVTX_MODULE_CORE, NVTX_POP, pop),
    ROW(NVTX_MODULE_CORE, NVTX_CATEGORY_A, category_a),
    ROW(NVTX_MODULE_CORE, NVTX_CATEGORY_W, category_w),
    ROW(NVTX_MODULE_CORE, NVTX_THREAD_A, thread_a),
    ROW(NVTX_MODULE_CORE, NVTX_THREAD_W, thread_w),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_MARK_EX, mark_in),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_START_EX, start_in),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_END, end_in),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_PUSH_EX, push_in),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_POP, pop_in),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_CATEGORY_A, category_in_a),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_CATEGORY_W, category_in_w),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_STRING_A, string_a),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_STRING_W, string_w),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_CREATE_A, create_a),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_CREATE_W, create_w),
    ROW(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_DESTROY, destroy),
};

/* Sets the functions of a module that the program's version of NVTX has; 0 = it does not have the module. */
static int module_take(const struct nvtx_callbacks *callbacks, uint32_t module)
{
	nvtx_function **functions = NULL;
	unsigned count = 0;
	if (!callbacks->module(module, &functions, &count) || !functions)
		return 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].module == module && rows[i].number < count && functions[rows[i].number])
			*functions[rows[i].number] = rows[i].function;
	return 1;
}

/* Called by the program's NVTX: returns 1, or 0 to disable its functions. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_tables tables)
{
	int saved = errno;
	const struct nvtx_callbacks *callbacks = tables && nvtx_is_ready() ? tables(NVTX_TABLE_CALLBACKS) : NULL;
	if (!callbacks || callbacks->size_b < sizeof(*callbacks) || !callbacks->module ||
	    !module_take(callbacks, NVTX_MODULE_CORE))
		return 0;
	module_take(callbacks, NVTX_MODULE_DOMAINS);
	const struct nvtx_version *version = tables(NVTX_TABLE_VERSION);
	if (version && version->size_b >= sizeof(*version) && version->set_ours)
		version->set_ours(NVTX_ABI_VERSION);
	errno = saved;
	return 1;
}
