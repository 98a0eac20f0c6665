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

static void said_set(struct nvtx_said *said, const char *text, size_t text_b)
{
	said->text = text_b ? text : UNNAMED;
	said->text_b = text_b ? text_b : sizeof(UNNAMED) - 1;
}

static void said_ascii(struct nvtx_said *said, const char *text)
{
	said_set(said, text, text ? strnlen(text, NVTX_TEXT_MAX_B) : 0);
}

static void said_wide(struct nvtx_said *said, char room[NVTX_WIDE_B], const wchar_t *text)
{
	said_set(said, room, text ? nvtx_text_utf8(room, NVTX_WIDE_B, text) : 0);
}

static void said_registered(struct nvtx_said *said, const void *handle)
{
	struct nvtx_name *string = nvtx_string_of(handle);
	if (string)
		said_set(said, string->key, string->key_b);
	said->string = string;
}

static void said_message(struct nvtx_said *said, char room[NVTX_WIDE_B], const struct nvtx_event *event)
{
	switch (event->message_type) {
	case NVTX_MESSAGE_ASCII:
		said_ascii(said, event->message.ascii);
		break;
	case NVTX_MESSAGE_WIDE:
		said_wide(said, room, event->message.wide);
		break;
	case NVTX_MESSAGE_IS_REGISTERED:
		said_registered(said, event->message.registered);
		break;
	default:
		break;
	}
}

static void said_event(struct nvtx_said *said, char room[NVTX_WIDE_B], const struct nvtx_event *event)
{
	*said = (struct nvtx_said){.text = UNNAMED, .text_b = sizeof(UNNAMED) - 1};
	if (!event)
		return;
	if (HAS(event, category))
		said->category = event->category;
	if (HAS(event, color) && event->color_type == NVTX_COLOR_IS_ARGB)
		said->color = event->color & 0xffffffu;
	if (HAS(event, payload)) {
		said->payload_type = event->payload_type;
		said->payload = event->payload;
	}
	if (HAS(event, message))
		said_message(said, room, event);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static int push_in(const void *domain, const struct nvtx_event *event)
{
	char room[NVTX_WIDE_B];
	struct nvtx_said said = {0};
	if (nvtx_is_on())
		said_event(&said, room, event);
	return nvtx_push(nvtx_domain_of(domain), &said);
}

static int push_ex(const struct nvtx_event *event)
{
	return push_in(NULL, event);
}

static int push_a(const char *text)
{
	struct nvtx_said said = {0};
	if (nvtx_is_on())
		said_ascii(&said, text);
	return nvtx_push(NVTX_DOMAIN_OF_ALL, &said);
}

static int push_w(const wchar_t *text)
{
	char room[NVTX_WIDE_B];
	struct nvtx_said said = {0};
	if (nvtx_is_on())
		said_wide(&said, room, text);
	return nvtx_push(NVTX_DOMAIN_OF_ALL, &said);
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
	char room[NVTX_WIDE_B];
	struct nvtx_said said;
	said_event(&said, room, event);
	return nvtx_start(nvtx_domain_of(domain), &said);
}

static uint64_t start_ex(const struct nvtx_event *event)
{
	return start_in(NULL, event);
}

static uint64_t start_a(const char *text)
{
	struct nvtx_said said = {0};
	said_ascii(&said, text);
	return nvtx_start(NVTX_DOMAIN_OF_ALL, &said);
}

static uint64_t start_w(const wchar_t *text)
{
	char room[NVTX_WIDE_B];
	struct nvtx_said said = {0};
	said_wide(&said, room, text);
	return nvtx_start(NVTX_DOMAIN_OF_ALL, &said);
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
	char room[NVTX_WIDE_B];
	struct nvtx_said said;
	said_event(&said, room, event);
	nvtx_mark(nvtx_domain_of(domain), &said);
}

static void mark_ex(const struct nvtx_event *event)
{
	mark_in(NULL, event);
}

static void mark_a(const char *text)
{
	struct nvtx_said said = {0};
	said_ascii(&said, text);
	nvtx_mark(NVTX_DOMAIN_OF_ALL, &said);
}

static void mark_w(const wchar_t *text)
{
	char room[NVTX_WIDE_B];
	struct nvtx_said said = {0};
	said_wide(&said, room, text);
	nvtx_mark(NVTX_DOMAIN_OF_ALL, &said);
}

static void thread_a(uint32_t tid, const char *name)
{
	struct nvtx_said said = {0};
	said_ascii(&said, name);
	nvtx_name_thread(tid, said.text, said.text_b);
}

static void thread_w(uint32_t tid, const wchar_t *name)
{
	char room[NVTX_WIDE_B];
	struct nvtx_said said = {0};
	said_wide(&said, room, name);
	nvtx_name_thread(tid, said.text, said.text_b);
}

static void category_in_a(const void *domain, uint32_t category, const char *name)
{
	struct nvtx_said said = {0};
	said_ascii(&said, name);
	nvtx_category_set(nvtx_domain_of(domain), category, said.text, said.text_b);
}

static void category_in_w(const void *domain, uint32_t category, const wchar_t *name)
{
	char room[NVTX_WIDE_B];
	struct nvtx_said said = {0};
	said_wide(&said, room, name);
	nvtx_category_set(nvtx_domain_of(domain), category, said.text, said.text_b);
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
	char room[NVTX_WIDE_B];
	return text ? nvtx_string_new(nvtx_domain_of(domain), room, nvtx_text_utf8(room, sizeof(room), text)) : NULL;
}

static void *create_a(const char *name)
{
	return nvtx_domain_new(name ? name : "", name ? strnlen(name, NVTX_TEXT_MAX_B) : 0);
}

static void *create_w(const wchar_t *name)
{
	char room[NVTX_WIDE_B];
	return nvtx_domain_new(room, nvtx_text_utf8(room, sizeof(room), name ? name : L""));
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
