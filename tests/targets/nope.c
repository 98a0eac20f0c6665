/* nope.c: runs a command where a system call is forbidden, as containers and distributions do it.
 *
 * nope ERRNO[,CALL] COMMAND…: ERRNO is EPERM, EACCES, ENOSYS or a number; CALL is perf_event_open when it is left out,
 * or process_vm_readv. The filter is inherited by everything that COMMAND starts.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int parse_errno(const char *text)
{
	static const struct {
		const char *name;
		int value;
	} names[] = {{"EPERM", EPERM}, {"EACCES", EACCES}, {"ENOSYS", ENOSYS}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i].name, text))
			return names[i].value;
	return atoi(text);
}

static int forbid(unsigned call, int code)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)code & SECCOMP_RET_DATA)),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 125;
	char *call = strchr(argv[1], ',');
	if (call)
		*call++ = '\0';
	unsigned number = call && !strcmp(call, "process_vm_readv") ? SYS_process_vm_readv : SYS_perf_event_open;
	if (forbid(number, parse_errno(argv[1]))) {
		perror("nope: seccomp");
		return 125;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
