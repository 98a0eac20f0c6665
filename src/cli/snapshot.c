/* snapshot.c: `sonde snapshot`: asks the recorder of a process to take a snapshot of its memory.
 *
 * Our user's recorders are found by their sockets (run/find.h) and asked one after another, starting with the one named
 * in the process's environment; a recorder that does not record the process answers that it does not.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/common/command.h"
#include "export/text/figure.h"
#include "format/link.h"
#include "run/find.h"
#include "util/buf.h"

#define ANSWER_MS 10000

struct request {
	pid_t pid;
	const char *label;
	int quiet;
};

static const struct sonde_option options[] = {
    {"pid", 'p', "PID", "the process to snapshot", SONDE_PID(offsetof(struct request, pid))},
    {"label", 'l', "TEXT", "name of the snapshot, for sonde report --diff",
     SONDE_TEXT(offsetof(struct request, label))},
    {"quiet", 'q', NULL, "print only errors", SONDE_FLAG(offsetof(struct request, quiet))},
    {0},
};

static int found(void *context, const struct sonde_option *option, const char *value)
{
	(void)context;
	(void)option;
	return sonde_command_wrong("snapshot", "unexpected argument '%s'; name the process with -p PID", value);
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static int connect_to(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t peer_b = sizeof peer,
		  address_b = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	memcpy(address.sun_path + 1, name, strlen(name));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int code = connect(fd, (struct sockaddr *)&address, address_b) ? -errno : 0;
	if (!code && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_b) || peer.uid != geteuid()))
		code = -EPERM;
	if (!code)
		return fd;
	close(fd);
	return code;
}

/* Asks one recorder. 0 and an answer in `out`; -ESRCH: this recorder does not record the process. */
static int ask(const char *name, const struct request *request, struct sonde_link_snapshot *out)
{
	struct sonde_link_snapshot_question question = {.head = {SONDE_LINK_SNAPSHOT, SONDE_LINK_VERSION},
							.pid = (uint32_t)request->pid};
	snprintf(question.label, sizeof question.label, "%s", request->label);
	int fd = connect_to(name);
	if (fd < 0)
		return fd;
	struct pollfd answered = {.fd = fd, .events = POLLIN};
	int code = send(fd, &question, sizeof question, MSG_NOSIGNAL) < 0 ? -errno : 0;
	if (!code && poll(&answered, 1, ANSWER_MS) <= 0)
		code = -ETIMEDOUT;
	ssize_t got = code ? 0 : recv(fd, out, sizeof *out, MSG_DONTWAIT);
	close(fd);
	if (code)
		return code;
	if (got != sizeof *out || out->head.type != SONDE_LINK_SNAPSHOT)
		return -EPROTO;
	return out->status;
}

static int is_alive(pid_t pid)
{
	return !kill(pid, 0) || errno == EPERM;
}

/* Asks all recorders, starting with the one named in the process's environment if it belongs to our user. */
static int ask_all(const struct request *request, struct sonde_link_snapshot *out)
{
	char name[SONDE_FIND_NAME_B];
	struct sonde_find recorders;
	int worst = -ENOENT;
	sonde_find_recorders(&recorders);
	int named = sonde_find_variable(name, sizeof name, request->pid, SONDE_LINK_ENV);
	for (int others = 0; others < 2; others++) {
		for (size_t i = 0; i < recorders.count; i++) {
			int is_other = !named || strcmp(recorders.names[i], name) != 0;
			if (is_other != others)
				continue;
			int code = ask(recorders.names[i], request, out);
			if (!code)
				return 0;
			/* not an error: -EPROTO from a recorder of another version that need not record this process */
			if (code != -ESRCH && !(is_other && code == -EPROTO))
				worst = code;
		}
	}
	return worst;
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

static int complain(const struct request *request, int code)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d", (int)request->pid);
	fprintf(stderr, "sonde snapshot: ");
	if (!is_alive(request->pid))
		fprintf(stderr, "no process %d\n", (int)request->pid);
	else if (code == -ENOENT && !stat(path, &status) && status.st_uid != geteuid())
		fprintf(stderr, "process %d is not recorded by you, but belongs to user %u: try again as that user\n",
			(int)request->pid, (unsigned)status.st_uid);
	else if (code == -ENOENT)
		fprintf(stderr, "process %d is not being recorded; start it with: sonde record --heap -- COMMAND\n",
			(int)request->pid);
	else if (code == -E2BIG)
		fprintf(stderr, "the recording of process %d already holds the maximum number of snapshots\n",
			(int)request->pid);
	else if (code == -ETIMEDOUT)
		fprintf(stderr, "the recorder of process %d did not answer for %d s: is it stopped?\n",
			(int)request->pid, ANSWER_MS / 1000);
	else if (code == -EPROTO)
		fprintf(stderr, "the recorder of process %d is another version of sonde\n", (int)request->pid);
	else
		fprintf(stderr, "cannot reach the recorder of process %d: %s\n", (int)request->pid, strerror(-code));
	return SONDE_EXIT_NEGATIVE;
}

static void put_bytes(struct sonde_buf *out, uint64_t size_b, const char *what)
{
	sonde_figure_value(out, SONDE_UNIT_BYTES, (double)size_b, 0);
	sonde_buf_text(out, what);
}

static void say(const struct request *request, const struct sonde_link_snapshot *answer)
{
	struct sonde_buf text;
	sonde_buf_init(&text, 1024);
	if (answer->rss_b)
		put_bytes(&text, answer->rss_b, " resident");
	if (answer->pss_b) {
		sonde_buf_text(&text, " (");
		put_bytes(&text, answer->pss_b, " proportional)");
	}
	sonde_buf_text(&text, answer->has_heap ? answer->mean_b ? ", about " : ", " : "; allocations are not recorded");
	if (answer->has_heap) {
		put_bytes(&text, answer->live_b, " live in ");
		sonde_figure_value(&text, SONDE_UNIT_COUNT, (double)answer->live_blocks, 0);
		sonde_buf_text(&text, answer->live_blocks == 1 ? " block" : " blocks");
	}
	printf("snapshot %" PRIu32, answer->number);
	if (*request->label)
		printf(" \"%s\"", request->label);
	printf(" at %.3f s: %.*s\n", (double)answer->after_ns / 1e9, (int)text.len_b, (const char *)text.data);
	sonde_buf_fini(&text);
}

static int run(int argc, char **argv)
{
	struct request request = {.label = ""};
	struct sonde_parse parse = {.command = sonde_command_find("snapshot"), .found = found, .context = &request};
	struct sonde_link_snapshot answer = {0};
	int code = sonde_command_parse(&parse, argc, argv);
	if (code || parse.done)
		return code;
	if (!request.pid)
		return sonde_command_wrong("snapshot", "which process? Add -p PID");
	if (strlen(request.label) >= SONDE_LINK_TEXT_B)
		return sonde_command_wrong("snapshot", "--label takes at most %u bytes", SONDE_LINK_TEXT_B - 1);
	code = ask_all(&request, &answer);
	if (code)
		return complain(&request, code);
	if (!request.quiet)
		say(&request, &answer);
	return SONDE_EXIT_OK;
}

const struct sonde_command sonde_command_snapshot = {
    .name = "snapshot",
    .title = "take a heap snapshot of a process that is being recorded",
    .usage = "-p PID [--label TEXT]",
    .options = options,
    .examples = "sonde record --heap -- ./server &\n"
		"sonde snapshot -p $(pidof server) --label before\n"
		"sonde report --section snapshots --diff before,after",
    .run = run,
};
