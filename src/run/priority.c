/* priority.c: sets a negative nice value if allowed (CAP_SYS_NICE), and a short time slice, which needs no privilege:
 * since Linux 6.12 a thread that wakes up with a shorter slice runs before other eligible threads. Older kernels ignore
 * it. */
#include "run/priority.h"

#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RECORDER_NICE (-15)
#define SLICE_NS 100000u /* the kernel's minimum */

/* Returns the previous slice; 0 if it cannot be read or changed. */
static unsigned long long set_slice(unsigned long long slice_ns)
{
	struct sched_attr attr = {.size = sizeof attr};
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0u))
		return 0;
	unsigned long long before_ns = attr.sched_runtime;
	attr.sched_runtime = slice_ns;
	return syscall(SYS_sched_setattr, 0, &attr, 0u) ? 0 : before_ns;
}

void sonde_priority_raise(struct sonde_priority *before)
{
	*before = (struct sonde_priority){.nice = getpriority(PRIO_PROCESS, 0), .is_raised = 1};
	if (before->nice > RECORDER_NICE)
		setpriority(PRIO_PROCESS, 0, RECORDER_NICE);
	before->slice_ns = set_slice(SLICE_NS);
}

void sonde_priority_restore(const struct sonde_priority *before)
{
	if (!before->is_raised)
		return;
	if (before->slice_ns)
		set_slice(before->slice_ns);
	setpriority(PRIO_PROCESS, 0, before->nice);
}
