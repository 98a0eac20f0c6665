/* zones.c: the zones source: records that programs make themselves with libsonde (zone/program.h).
 *
 * An ordinary listener of the channel: a program sink takes the records of each process that connects as
 * SONDE_LINK_ZONES. Nothing is drained here: the channel does that. The source's record also reports what kept
 * processes from connecting.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "source/record/detail.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "source/target/channel.h"
#include "source/zone/program.h"
#include "util/error.h"

#define METHOD "rings in shared memory, written by the program itself"

struct sonde_source_run {
	struct sonde_source_context context;
	struct sonde_channel_listener listener;
	uint64_t programs; /* number of programs that have connected */
};

static int on_program(void *context, struct sonde_pool *pool, pid_t pid, struct sonde_program_sink *out)
{
	struct sonde_source_run *run = context;
	int code = sonde_program_new(&run->context, pool, pid, out);
	run->programs += !code;
	return code;
}

static int zones_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	(void)options;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		int code = -errno;
		snprintf(why, why_b, "no local sockets here: %s", strerror(-code));
		return code;
	}
	close(fd);
	return 0;
}

static int zones_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	struct sonde_channel *channel = context->channel;
	if (sonde_channel_failure(channel))
		return sonde_error(ENOTCONN, "%s", sonde_channel_failure(channel));
	run->context = *context;
	run->listener = (struct sonde_channel_listener){.context = run, .source = "zones", .program = on_program};
	return sonde_channel_listen(channel, SONDE_LINK_ZONES, &run->listener);
}

/* Writes what could not be recorded, and why. */
static void write_detail(const struct sonde_source_run *run, struct sonde_detail *out)
{
	uint64_t strangers = sonde_channel_strangers(run->context.channel);
	if (strangers)
		sonde_detail_add(out,
				 "%llu process%s of other users asked to be recorded and %s refused%s: record as %sthe "
				 "user who runs %s",
				 (unsigned long long)strangers, strangers == 1 ? "" : "es",
				 strangers == 1 ? "was" : "were",
				 geteuid() ? "" : ", not known to come from the command",
				 geteuid() ? "root, or as " : "", strangers == 1 ? "it" : "them");
	else if (!run->programs)
		sonde_detail_add(out, "no program used the sonde API");
	if (run->programs && !sonde_channel_counts_cycles(run->context.channel))
		sonde_detail_add(out, "the cycle counter of this machine is not stable: each event reads "
				      "CLOCK_MONOTONIC, which is slower");
}

static void zones_stop(struct sonde_source_run *run)
{
	struct sonde_detail detail = {0};
	write_detail(run, &detail);
	struct sonde_recorder_state state = {
	    .state = sonde_channel_strangers(run->context.channel) ? SONDE_SOURCE_LIMITED
		     : run->programs                               ? SONDE_SOURCE_ON
								   : SONDE_SOURCE_OFF,
	    .method = METHOD,
	    .detail = sonde_detail_text(&detail),
	};
	sonde_recorder_source(run->context.recorder, "zones", &state);
	sonde_channel_ignore(run->context.channel, &run->listener);
}

const struct sonde_source sonde_source_zones = {
    .name = "zones",
    .title = "zones, counters and spans that programs record themselves",
    .cost = "one pair of clock readings a zone, plus 0.5 ns",
    .run_b = sizeof(struct sonde_source_run),
    .probe = zones_probe,
    .open = zones_open,
    .stop = zones_stop,
};
