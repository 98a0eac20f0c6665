/* stacks.c: records the stacks of calls that submit device work (cuda/stacks.h).
 *
 * CUPTI calls its subscriber in the calling thread, on entry: there the stack is recorded with the call's correlation.
 * A runtime call contains a driver call with the same correlation: only the outer one counts. Calls are selected by
 * their names; calls whose names are not listed here are not recorded.
 */
#include "inject/cuda/stacks.h"

#include <string.h>

#include <sonde/device.h>

#include "inject/cuda/decode.h"

enum { CALLS_MAX = 1024 }; /* all call numbers are smaller */

static _Thread_local uint32_t recorded; /* correlation last recorded by this thread */

static int is_wanted(const char *name)
{
	static const char *const words[] = {"Launch", "Memcpy", "Memset", "Malloc", "MemAlloc", "HostAlloc"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(name, words[i]))
			return 1;
	return 0;
}

/* Returns the number of calls of a domain for which callbacks are enabled. CUPTI rejects numbers that its version
 * lacks. */
static uint32_t enable_domain(const struct cuda_library *cupti, void *subscriber, int domain)
{
	uint32_t enabled = 0;
	for (uint32_t call = 0; call < CALLS_MAX; call++) {
		const char *name = cuda_call_name(domain == CUDA_DOMAIN_DRIVER, call);
		enabled += name && is_wanted(name) && !cupti->cuptiEnableCallback(1, subscriber, domain, call);
	}
	return enabled;
}

void cuda_stacks_enable(const struct cuda_library *cupti, void *subscriber)
{
	uint32_t enabled = 0;
	if (cupti->cuptiEnableCallback)
		enabled = enable_domain(cupti, subscriber, CUDA_DOMAIN_RUNTIME) +
			  enable_domain(cupti, subscriber, CUDA_DOMAIN_DRIVER);
	if (!enabled)
		sonde_activity_lost("CUDA: processes of which stacks of calls are not recorded: CUPTI calls nobody", 1);
}

void cuda_stacks_called(uint32_t domain, const void *data)
{
	uint32_t site, correlation;
	if ((domain != CUDA_DOMAIN_RUNTIME && domain != CUDA_DOMAIN_DRIVER) || !data)
		return;
	memcpy(&site, (const char *)data + CUDA_CALLBACK_site, sizeof site);
	memcpy(&correlation, (const char *)data + CUDA_CALLBACK_correlation, sizeof correlation);
	if (site != CUDA_SITE_ENTER || !correlation || correlation == recorded)
		return;
	recorded = correlation;
	sonde_call_stack(correlation);
}
