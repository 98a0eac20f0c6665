/* nvtx_told.c: a program annotated with NVTX, without sonde: `nvtx_told PART [NUMBER]`, with parts below. Compiled
 * twice: with NVIDIA's headers if installed, and with nvtx_client.c instead.
 *
 * Each part says on its standard output what the functions returned, as "PART: NUMBERS".
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

static void rest(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&time, NULL);
}

static nvtxEventAttributes_t event_of(const char *text)
{
	nvtxEventAttributes_t event;
	memset(&event, 0, sizeof(event));
	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = text;
	return event;
}

static int push_in(nvtxDomainHandle_t domain, const char *text)
{
	nvtxEventAttributes_t event = event_of(text);
	return nvtxDomainRangePushEx(domain, &event);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

static void names(long count)
{
	static char buffer[32];
	nvtxEventAttributes_t none = event_of(NULL);
	for (long i = 0; i < count; i++) {
		int outer = nvtxRangePushA("outer");
		int inner = nvtxRangePushW(L"größe ∑ 𝄞");
		int popped = nvtxRangePop();
		if (!i)
			printf("names: %d %d %d", outer, inner, popped);
		snprintf(buffer, sizeof(buffer), "%s", "buffer a"); /* used again for another name */
		nvtxRangePushA(buffer);
		nvtxRangePop();
		snprintf(buffer, sizeof(buffer), "%s", "buffer b");
		nvtxRangePushA(buffer);
		nvtxRangePop();
		nvtxRangePushEx(&none);
		nvtxRangePop();
		popped = nvtxRangePop();
		if (!i)
			printf(" %d\n", popped);
	}
}

static void domain_parts(long count)
{
	nvtxDomainHandle_t lib = nvtxDomainCreateA("lib"), wide = nvtxDomainCreateW(L"weít");
	nvtxStringHandle_t kept = nvtxDomainRegisterStringA(lib, "kept");
	nvtxStringHandle_t kept_wide = nvtxDomainRegisterStringW(wide, L"wíde kept");
	nvtxEventAttributes_t event = event_of(NULL);
	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	for (long i = 0; i < count; i++) {
		int levels[4] = {nvtxRangePushA("of all"), push_in(lib, "call")};
		event.message.registered = kept;
		levels[2] = nvtxDomainRangePushEx(lib, &event);
		event.message.registered = kept_wide;
		levels[3] = nvtxDomainRangePushEx(wide, &event);
		if (!i)
			printf("domains: %d %d %d %d", levels[0], levels[1], levels[2], levels[3]);
		levels[0] = nvtxDomainRangePop(wide);
		levels[1] = nvtxDomainRangePop(lib);
		levels[2] = nvtxDomainRangePop(lib);
		levels[3] = nvtxRangePop();
		if (!i)
			printf(" %d %d %d %d\n", levels[0], levels[1], levels[2], levels[3]);
	}
	nvtxDomainDestroy(wide);
	/* Of a domain that was destroyed, and of one of the same name again. */
	push_in(wide, "late");
	nvtxDomainRangePop(wide);
	nvtxDomainHandle_t again = nvtxDomainCreateW(L"weít");
	push_in(again, "again");
	nvtxDomainRangePop(again);
}

static void payloads(long count)
{
	nvtxDomainHandle_t lib = nvtxDomainCreateA("lib");
	nvtxNameCategoryA(7, "io");
	nvtxDomainNameCategoryW(lib, 7, L"réseau");
	(void)count;
	nvtxEventAttributes_t event = event_of("typed");
	event.category = 7;
	event.colorType = NVTX_COLOR_ARGB;
	event.color = 0xff11aa33;
	static const int32_t types[] = {NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, NVTX_PAYLOAD_TYPE_INT64,
					NVTX_PAYLOAD_TYPE_DOUBLE,         NVTX_PAYLOAD_TYPE_UNSIGNED_INT32,
					NVTX_PAYLOAD_TYPE_INT32,          NVTX_PAYLOAD_TYPE_FLOAT};
	for (int i = 0; i < 6; i++) {
		event.payload.ullValue = 0;
		event.payloadType = types[i];
		if (types[i] == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
			event.payload.ullValue = 18446744073709551615u;
		else if (types[i] == NVTX_PAYLOAD_TYPE_INT64)
			event.payload.llValue = -9007199254740993;
		else if (types[i] == NVTX_PAYLOAD_TYPE_DOUBLE)
			event.payload.dValue = 0.1;
		else if (types[i] == NVTX_PAYLOAD_TYPE_UNSIGNED_INT32)
			event.payload.uiValue = 4294967295u;
		else if (types[i] == NVTX_PAYLOAD_TYPE_INT32)
			event.payload.iValue = -5;
		else
			event.payload.fValue = 0.5f;
		nvtxRangePushEx(&event);
		nvtxRangePop();
		nvtxMarkEx(&event);
	}
	event.payloadType = 0;
	event.category = 9; /* without a name */
	nvtxRangePushEx(&event);
	nvtxRangePop();
	event.category = 7;
	nvtxDomainRangePushEx(lib, &event);
	nvtxDomainRangePop(lib);
	/* One that ends before its message, according to its size. */
	event = event_of("not to be read");
	event.size = 32;
	event.message.ascii = (const char *)16;
	nvtxRangePushEx(&event);
	nvtxRangePop();
	nvtxRangePushEx(NULL);
	nvtxRangePop();
	puts("payloads:");
}

static void *end_there(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

static void spans(long count)
{
	nvtxDomainHandle_t lib = nvtxDomainCreateA("lib");
	int zero = 0;
	for (long i = 0; i < count; i++) {
		pthread_t thread;
		nvtxRangeId_t across = nvtxRangeStartA("across");
		nvtxEventAttributes_t event = event_of("in lib");
		event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
		event.payload.ullValue = 18446744073709551615u;
		nvtxRangeId_t inside = nvtxDomainRangeStartEx(lib, &event);
		nvtxRangeId_t wide = nvtxRangeStartW(L"wíde");
		zero += !across + !inside + !wide;
		rest(2);
		if (pthread_create(&thread, NULL, end_there, &across))
			exit(3);
		pthread_join(thread, NULL);
		nvtxRangeEnd(wide);
		nvtxDomainRangeEnd(lib, inside);
		nvtxRangeEnd(0);
		nvtxRangeEnd(12345); /* no such range */
		nvtxMarkA("here");
		nvtxMarkW(L"hiér");
		event.message.ascii = "domain's";
		nvtxDomainMarkEx(lib, &event);
	}
	printf("spans: %d\n", zero);
}

static void mismatched(long count)
{
	(void)count;
	int first = nvtxRangePop(), in = nvtxDomainRangePop(nvtxDomainCreateA("lib"));
	int level = nvtxRangePushA("matched"), back = nvtxRangePop(), last = nvtxRangePop();
	nvtxRangePushA("never popped");
	printf("mismatched: %d %d %d %d %d\n", first, in, level, back, last);
}

static void interleaved(long count)
{
	nvtxDomainHandle_t lib = nvtxDomainCreateA("lib");
	int all = 0;
	for (long i = 0; i < count; i++) {
		all += nvtxRangePushA("first");
		rest(2);
		all += push_in(lib, "second");
		rest(3);
		all += nvtxRangePop();
		rest(4);
		all += nvtxRangePushA("third");
		all += nvtxDomainRangePop(lib);
		rest(5);
		all += nvtxRangePop();
	}
	printf("interleaved: %d\n", all);
}

static void many(long count)
{
	char name[96];
	for (long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "step %ld of %ld", i, count);
		nvtxRangePushA(name);
		nvtxRangePop();
	}
	for (long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "aten::mm, seq = %ld, op_id = %ld", i, 2 * i);
		nvtxRangePushA(name);
		nvtxRangePop();
	}
	puts("many:");
}

static void *work(void *count)
{
	for (long i = 0; i < *(long *)count; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%ld", i % 100);
		nvtxRangePushA("shared");
		nvtxRangePushA(name);
		nvtxRangePop();
		nvtxRangePop();
	}
	return NULL;
}

static void threads(long count)
{
	pthread_t them[8];
	for (int i = 0; i < 8; i++)
		if (pthread_create(&them[i], NULL, work, &count))
			exit(3);
	for (int i = 0; i < 8; i++)
		pthread_join(them[i], NULL);
	puts("threads:");
}

static pthread_barrier_t barrier;
static uint32_t worker_tid;

static void *named(void *context)
{
	(void)context;
	worker_tid = (uint32_t)syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	nvtxRangePushA("by the named");
	nvtxRangePop();
	return NULL;
}

static void thread_names(long count)
{
	pthread_t thread;
	(void)count;
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, named, NULL))
		exit(3);
	pthread_barrier_wait(&barrier);
	nvtxNameOsThreadA(worker_tid, "the worker");
	nvtxNameOsThreadW((uint32_t)syscall(SYS_gettid), L"the dríver");
	nvtxRangePushA("by the driver");
	nvtxRangePop();
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	puts("thread-names:");
}

static void forks(long count)
{
	(void)count;
	nvtxRangePushA("parent");
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		int level = nvtxRangePushA("child"), back = nvtxRangePop(), parents = nvtxRangePop();
		printf("child: %d %d %d\n", level, back, parents);
		exit(0);
	}
	waitpid(child, NULL, 0);
	printf("forks: %d\n", nvtxRangePop());
}

static void deep(long count)
{
	int tracked = 0, popped = 0;
	for (long i = 0; i < count; i++)
		tracked += nvtxRangePushA("deep") == (int)i;
	for (long i = count; i-- > 0;)
		popped += nvtxRangePop() == (int)i;
	printf("deep: %d %d\n", tracked, popped);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	nvtxRangePushA("handler");
	nvtxRangePop();
	signals++;
}

/* Ranges in a handler that repeatedly interrupts ranges. */
static void handlers(long count)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerspec every = {{0, 100000}, {0, 100000}};
	struct sigevent by = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;
	int wrong = nvtxRangePushA("first") + nvtxRangePop(); /* NVTX loads its object then, which handlers may not */
	sigaction(SIGUSR1, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &by, &timer) || timer_settime(timer, 0, &every, NULL))
		exit(3);
	for (long i = 0; i < count || signals < 20; i++) {
		wrong += nvtxRangePushA("interrupted") != 0;
		wrong += nvtxRangePop() != 0;
	}
	timer_delete(timer);
	printf("handlers: %d\n", wrong);
}

/* Prints only the time that a range takes, in ns, on standard error. */
static void cost(long count)
{
	struct timespec from, to;
	nvtxRangePushA("warm");
	nvtxRangePop();
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (long i = 0; i < count; i++) {
		nvtxRangePushA("a range of some length");
		nvtxRangePop();
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	fprintf(stderr, "%.1f\n",
		((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)count);
	puts("done");
}

/* Runs for this many ms. */
static void lasts(long ms)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	long until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	do {
		for (int i = 0; i < 1000; i++) {
			nvtxRangePushA("tick");
			nvtxRangePop();
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until);
	puts("done");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long count);
	} parts[] = {{"names", names},
		     {"domains", domain_parts},
		     {"payloads", payloads},
		     {"spans", spans},
		     {"mismatched", mismatched},
		     {"interleaved", interleaved},
		     {"many", many},
		     {"threads", threads},
		     {"thread-names", thread_names},
		     {"forks", forks},
		     {"deep", deep},
		     {"handlers", handlers},
		     {"cost", cost},
		     {"lasts", lasts}};
	for (size_t i = 0; argc > 1 && i < sizeof(parts) / sizeof(*parts); i++) {
		if (strcmp(argv[1], parts[i].name) != 0)
			continue;
		parts[i].run(argc > 2 ? atol(argv[2]) : 1);
		return 0;
	}
	return 2;
}
