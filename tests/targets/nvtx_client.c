/* nvtx_client.c: the program's half of NVTX, written for tests: its first call loads the object that
 * NVTX_INJECTION64_PATH names and offers it its function pointers; if there is none, or it rejects them, calls do
 * nothing. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include <nvtx3/nvToolsExt.h>

typedef void (*function)(void);

enum { CORE = 1, DOMAINS = 5, CORE_COUNT = 16, DOMAIN_COUNT = 16, TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };

static function core[CORE_COUNT], domains[DOMAIN_COUNT];
static function *core_at[CORE_COUNT + 1], *domains_at[DOMAIN_COUNT + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int module(uint32_t number, function ***out, unsigned *count)
{
	if (number != CORE && number != DOMAINS)
		return 0;
	*out = number == CORE ? core_at : domains_at;
	*count = number == CORE ? CORE_COUNT : DOMAIN_COUNT;
	return 1;
}

static void set_version(uint32_t version)
{
	(void)version;
}

static const void *tables(uint32_t id)
{
	static const struct {
		size_t size_b;
		int (*module)(uint32_t number, function ***out, unsigned *count);
	} callbacks = {sizeof(callbacks), module};
	static const struct {
		size_t size_b;
		uint32_t version, reserved;
		void (*set)(uint32_t version);
	} version = {sizeof(version), NVTX_VERSION, 0, set_version};
	return id == TABLE_CALLBACKS ? (const void *)&callbacks : id == TABLE_VERSION ? &version : NULL;
}

static void load(void)
{
	/* Number 0 is none, as in the real one. */
	for (int i = 1; i < CORE_COUNT; i++)
		core_at[i] = &core[i];
	for (int i = 1; i < DOMAIN_COUNT; i++)
		domains_at[i] = &domains[i];
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *object = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*begin)(const void *(*)(uint32_t)) =
	    object ? (int (*)(const void *(*)(uint32_t)))dlsym(object, "InitializeInjectionNvtx2") : NULL;
	if (object && (!begin || !begin(tables)))
		dlclose(object);
}

static function find(const function *from, int number)
{
	pthread_once(&once, load);
	return from[number];
}

/* A public function: its result without an injected object (`nobody`), its number, and how it is called. */
#define CALL(type, nobody, from, number, name, parameters, arguments)            \
	type name parameters                                                     \
	{                                                                        \
		type(*call) parameters = (type(*) parameters)find(from, number); \
		return call ? call arguments : nobody;                           \
	}
#define CALL_VOID(from, number, name, parameters, arguments)                     \
	void name parameters                                                     \
	{                                                                        \
		void(*call) parameters = (void(*) parameters)find(from, number); \
		if (call)                                                        \
			call arguments;                                          \
	}

CALL_VOID(core, 1, nvtxMarkEx, (const nvtxEventAttributes_t *event), (event))
CALL_VOID(core, 2, nvtxMarkA, (const char *text), (text))
CALL_VOID(core, 3, nvtxMarkW, (const wchar_t *text), (text))
CALL(nvtxRangeId_t, 0, core, 4, nvtxRangeStartEx, (const nvtxEventAttributes_t *event), (event))
CALL(nvtxRangeId_t, 0, core, 5, nvtxRangeStartA, (const char *text), (text))
CALL(nvtxRangeId_t, 0, core, 6, nvtxRangeStartW, (const wchar_t *text), (text))
CALL_VOID(core, 7, nvtxRangeEnd, (nvtxRangeId_t id), (id))
CALL(int, -2, core, 8, nvtxRangePushEx, (const nvtxEventAttributes_t *event), (event))
CALL(int, -2, core, 9, nvtxRangePushA, (const char *text), (text))
CALL(int, -2, core, 10, nvtxRangePushW, (const wchar_t *text), (text))
CALL(int, -2, core, 11, nvtxRangePop, (void), ())
CALL_VOID(core, 12, nvtxNameCategoryA, (uint32_t category, const char *name), (category, name))
CALL_VOID(core, 13, nvtxNameCategoryW, (uint32_t category, const wchar_t *name), (category, name))
CALL_VOID(core, 14, nvtxNameOsThreadA, (uint32_t tid, const char *name), (tid, name))
CALL_VOID(core, 15, nvtxNameOsThreadW, (uint32_t tid, const wchar_t *name), (tid, name))
CALL_VOID(domains, 1, nvtxDomainMarkEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event),
	  (domain, event))
CALL(nvtxRangeId_t, 0, domains, 2, nvtxDomainRangeStartEx,
     (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event), (domain, event))
CALL_VOID(domains, 3, nvtxDomainRangeEnd, (nvtxDomainHandle_t domain, nvtxRangeId_t id), (domain, id))
CALL(int, -2, domains, 4, nvtxDomainRangePushEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event),
     (domain, event))
CALL(int, -2, domains, 5, nvtxDomainRangePop, (nvtxDomainHandle_t domain), (domain))
CALL_VOID(domains, 8, nvtxDomainNameCategoryA, (nvtxDomainHandle_t domain, uint32_t category, const char *name),
	  (domain, category, name))
CALL_VOID(domains, 9, nvtxDomainNameCategoryW, (nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name),
	  (domain, category, name))
CALL(nvtxStringHandle_t, NULL, domains, 10, nvtxDomainRegisterStringA, (nvtxDomainHandle_t domain, const char *text),
     (domain, text))
CALL(nvtxStringHandle_t, NULL, domains, 11, nvtxDomainRegisterStringW, (nvtxDomainHandle_t domain, const wchar_t *text),
     (domain, text))
CALL(nvtxDomainHandle_t, NULL, domains, 12, nvtxDomainCreateA, (const char *name), (name))
CALL(nvtxDomainHandle_t, NULL, domains, 13, nvtxDomainCreateW, (const wchar_t *name), (name))
CALL_VOID(domains, 14, nvtxDomainDestroy, (nvtxDomainHandle_t domain), (domain))
