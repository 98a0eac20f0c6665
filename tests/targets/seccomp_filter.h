/* seccomp_filter.h: a filter that kills the caller of a system call, either of one that is not in a list, or of one
 * that is. */
#ifndef SONDE_TESTS_SECCOMP_FILTER_H
#define SONDE_TESTS_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#define CALLS_MAX 40

struct seccomp_filter {
	struct sock_filter rules[CALLS_MAX + 3];
	struct sock_fprog program; /* points to them */
};

/* And gives up new privileges, which is the condition for one. */
static inline void seccomp_filter_make(struct seccomp_filter *filter, const unsigned *calls, size_t count,
				       int is_listed)
{
	unsigned kill = SECCOMP_RET_KILL_PROCESS, allow = SECCOMP_RET_ALLOW;
	size_t used = 0;
	filter->rules[used++] =
	    (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count; i++)
		filter->rules[used++] =
		    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], (unsigned char)(count - i), 0);
	filter->rules[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, is_listed ? allow : kill);
	filter->rules[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, is_listed ? kill : allow);
	filter->program = (struct sock_fprog){(unsigned short)used, filter->rules};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

#endif
