/* runtime.h: internals of libsonde: one process record, one page per thread, one pool.
 *
 * Everything that must not survive fork is on pages that the child reads as zeros (MADV_WIPEONFORK). So a child of
 * fork, _Fork or raw clone finds limit 0 and state NEW and initialises itself again, whatever the parent was doing at
 * that moment. Nothing here takes a lock or calls malloc: it may run in signal handlers.
 */
#ifndef SONDE_RUNTIME_RUNTIME_H
#define SONDE_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "format/event.h"
#include "format/link.h"
#include "format/record.h"
#include "format/ring.h"
#include "sonde/sonde.h"

/* --- process.c ----------------------------------------------------------------------------------------------------*/

/* Owner of this copy of the runtime (enum sonde_link_client): libsonde or an injected object. */
#ifndef SONDE_RUNTIME_CLIENT
#define SONDE_RUNTIME_CLIENT SONDE_LINK_ZONES
#endif

enum sonde_process_state {
	SONDE_PROCESS_NEW = 0, /* a forked child reads this, too */
	SONDE_PROCESS_SETUP,   /* one thread connects; the others wait */
	SONDE_PROCESS_ON,
	SONDE_PROCESS_PAUSED,
	SONDE_PROCESS_OFF,
};

enum sonde_process_mode { SONDE_MODE_NONE = 0, SONDE_MODE_LINK, SONDE_MODE_SELF };

struct sonde_process {
	_Atomic uint32_t state; /* a futex word while in state SETUP */
	_Atomic uint32_t mode;
	_Atomic uint64_t threads; /* serial numbers assigned */
	_Atomic uint32_t chunks;  /* sequence numbers assigned */
	_Atomic(struct sonde_ring_pool *) pool;
	uint64_t pool_b;
	_Atomic uint32_t recording; /* number of the recording, if this process writes it itself: pools are reused */
	_Atomic uint32_t mapped;    /* the first chunks, whose pages are already mapped */
	uint32_t setup_tid;
	_Atomic uint64_t stuck;  /* the drainer makes no progress, so no thread waits for it (chunk.c) */
	_Atomic uint32_t asking; /* only one query at a time on the single socket */
	uint32_t unanswered;     /* abandoned queries whose answers may still arrive */
	int fd;                  /* of the socket */
	dev_t fd_dev;            /* identity of the socket, to detect a reused descriptor */
	ino_t fd_ino;
};

/* The process record, never NULL after the first success; NULL if memory is refused. */
struct sonde_process *sonde_process_get(void);
/* The pool that events go to, set up if this process is new; NULL = off. */
struct sonde_ring_pool *sonde_process_pool(struct sonde_process *process);
void sonde_process_off(struct sonde_process *process);
void sonde_process_lost(struct sonde_ring_pool *pool, enum sonde_ring_lost cause, uint64_t count);
/* Wakes the drainer so that it adds memory to the pool; does nothing until the drainer has answered an earlier call. */
void sonde_process_doorbell(struct sonde_process *process, struct sonde_ring_pool *pool);
/* Only wakes the drainer. */
void sonde_process_wake(struct sonde_process *process, struct sonde_ring_pool *pool);

/* --- link.c -------------------------------------------------------------------------------------------------------*/

/* Connects to the recorder named in the environment, requests a pool and maps it; 0 or a negative errno. */
int sonde_link_connect(struct sonde_process *process, const char *name, uint32_t flags);
int sonde_link_send(struct sonde_process *process, const void *message, size_t size_b);
void sonde_link_forget(void);
/* Returns 0 while the recorder is connected. */
int sonde_link_check(struct sonde_process *process);
/* The pid of the recorder at the other end of a socket (0: in another namespace); −1 = it belongs to another user than
 * ours or root. The socket's name is not secret once in use, and anyone who finds it free can take it. */
pid_t sonde_link_peer(int fd);
#define SONDE_LINK_WAYS 5u
/* The addresses where a recorder of that name may listen (format/link.h): try `way` 0, 1, … until one answers. Returns
 * the address's size; 0 = this way does not apply to the name. */
socklen_t sonde_link_address(struct sockaddr_un *out, const char *name, unsigned way);
/* True if connecting failed (a negative errno) because no recorder listens. */
int sonde_link_is_nobody(int code);
/* True if the recorder is stopped or dead and will not answer soon. 0 also if its state is not visible. */
int sonde_link_is_stopped(pid_t recorder);
int sonde_link_is_peer_stopped(const struct sonde_process *process);
/* Sockets time out in steps; converts seconds to steps. */
void sonde_link_step(int fd);
unsigned sonde_link_steps(unsigned seconds);
/* Receives one message with at most one descriptor. Returns its size, or a negative errno: −EAGAIN after `steps` steps,
 * −EHOSTDOWN if the recorder was found stopped. */
ssize_t sonde_link_receive(int fd, unsigned steps, void *message, size_t size_b, int *out_fd);
int sonde_link_ask(struct sonde_process *process, const struct sonde_link_query *query, struct sonde_link_answer *out);
int sonde_link_ask_blocks(struct sonde_process *process, const struct sonde_link_blocks_question *question,
			  struct sonde_link_blocks *out);

/* --- thread.c -----------------------------------------------------------------------------------------------------*/

#define SONDE_THREAD_PENDING 128u
#define SONDE_THREAD_LATE 32u
#define SONDE_THREAD_HISTS SONDE_HOT_HISTS
#define SONDE_THREAD_OPEN 128u
#define SONDE_THREAD_OWNED 512u

/* A chain of chunks, owned by its thread. */
struct sonde_chain {
	struct sonde_ring_chunk *chunk;
	uint64_t end; /* end address of the chunk; 0 = none */
	uint32_t last_seq;
};

/* Owned by its thread, except for `hot` and in_use. */
struct sonde_thread {
	struct sonde_hot hot;
	_Atomic uint32_t in_use;
	struct sonde_ring_pool *pool; /* owner of the chunks below */
	struct sonde_chain zones;
	/* Words reserved by interrupted events outside any chunk. Until those events reach the slow path, the limit
	 * stays 0; otherwise, such an event could find itself below the limit of a chunk that a handler has taken in
	 * the meantime. If a handler never returns to the event (siglongjmp), the limit stays 0 for good. */
	uint64_t beyond;
	struct sonde_chain events;
	uint64_t event_cursor;
	uint32_t tid;
	uint64_t serial;
	uint32_t recording; /* the recording that the chunks belong to */
	uint32_t busy;      /* set in the slow path: events of signal handlers are then dropped and counted */
	uint32_t skipped;   /* open zones that a handler began meanwhile: dropped as a whole */
	uint32_t late;      /* ends of zones that a handler began in the fast path; leave() stores them */
	uint64_t late_ends[SONDE_THREAD_LATE];
	/* Events without space, reduced to the ends of recorded zones followed by the begins of zones still open. They
	 * are written once there is space again, so that the recording nests correctly. */
	uint32_t waited; /* waits for a chunk that failed */
	uint32_t taken;  /* chunks taken */
	uint32_t waited_long;
	uint32_t waits;  /* 1: the event is of a program's pool, so it waits for a chunk and is not dropped */
	uint32_t owed;   /* pending ends */
	uint32_t opened; /* pending begins */
	uint64_t depth_lost;
	uint64_t pending[SONDE_THREAD_PENDING];
	struct sonde_ring_chunk *counters;
	struct sonde_ring_chunk *hists[SONDE_THREAD_HISTS];
	uint32_t open[SONDE_THREAD_OPEN]; /* sites of sonde_begin() */
	uint32_t open_depth;
	/* Chunks of both chains, oldest first, for the overwrite policy. */
	uint32_t owned_first, owned_count;
	struct {
		uint32_t index, seq;
	} owned[SONDE_THREAD_OWNED];
};

#define SONDE_THREAD_B 8192u
_Static_assert(sizeof(struct sonde_thread) <= SONDE_THREAD_B, "thread page");

/* True if this thread's events are not recorded. Also true in an IFUNC resolver of the program or a library, where
 * thread-local variables have no values yet. */
static inline int sonde_thread_is_off(void)
{
	const struct sonde_hot *hot = sonde_hot_self;
	return !hot || SONDE_HOT_LOAD(hot->off);
}

/* The calling thread's page, registered if new, with errno preserved; NULL = off. A non-NULL result has set `busy` and
 * needs sonde_thread_leave(). `pool`: where the thread's events go. */
struct sonde_thread *sonde_thread_enter(struct sonde_ring_pool **pool);
void sonde_thread_leave(struct sonde_thread *thread);
/* This thread's page in this process, or NULL; never registers. */
struct sonde_thread *sonde_thread_current(void);
/* Site of the innermost open zone, found by reading the current chunk backwards; 0 = not found. */
uint32_t sonde_thread_innermost(const struct sonde_thread *thread);
/* Forces every thread of the process into the slow path at its next event; `off`: threads may skip events entirely. */
void sonde_thread_interrupt_all(int off);
/* Call first in a forked child: the parent's pages do not belong to this process. */
void sonde_thread_forget_all(void);
/* Creates the key whose destructor runs at thread exit; once, and early. */
void sonde_thread_key(void);
/* Lets this thread skip the slow path as well, until recording starts. */
void sonde_thread_off(struct sonde_process *process);

/* --- chunk.c ------------------------------------------------------------------------------------------------------*/

/* A free chunk with its header filled in except for `kind`; NULL = none, after waiting according to the pool's
 * policy. */
struct sonde_ring_chunk *sonde_chunk_take(struct sonde_thread *thread, struct sonde_ring_pool *pool);
/* Moves a chain to its next chunk and seals the previous one. 0, or −1 if there is none. */
int sonde_chain_next(struct sonde_thread *thread, struct sonde_ring_pool *pool, struct sonde_chain *chain,
		     enum sonde_ring_kind kind);

/* --- place.c ------------------------------------------------------------------------------------------------------*/

uint32_t sonde_place_id(struct sonde_ring_pool *pool, struct sonde_place *place);
uint32_t sonde_place_named(struct sonde_ring_pool *pool, uint32_t kind, const char *name);
/* Copies the sites of another pool, so that ids assigned before stay valid. */
void sonde_place_inherit(struct sonde_ring_pool *into, const struct sonde_ring_pool *from);
size_t sonde_place_text(struct sonde_ring_pool *pool, uint32_t id, char *out, size_t out_b);

/* --- event.c ------------------------------------------------------------------------------------------------------*/

/* Reserves an event of `words` words with head.words set and nothing published; NULL = lost, and counted. */
struct sonde_event *sonde_event_reserve(struct sonde_thread *thread, struct sonde_ring_pool *pool, uint32_t words);
/* Stores the header, which publishes the event. */
void sonde_event_publish(struct sonde_event *event, const struct sonde_event *head);
/* The current time in the pool's clock. */
uint64_t sonde_event_time(const struct sonde_ring_pool *pool);
/* Sends an event whose struct of fixed_b bytes begins with `head`, followed by `more`. Returns a result of the public
 * functions. */
int sonde_event_send(struct sonde_event *head, size_t fixed_b, const void *more, size_t more_b);

/* --- self.c -------------------------------------------------------------------------------------------------------*/

/* Creates a pool in this process, opens the recording (may_number: under another name if the file exists) and starts
 * the drain thread; 0 or an enum sonde_code. */
int sonde_self_start(struct sonde_process *process, const char *path, int may_number,
		     const struct sonde_options *options);
/* Drains the remaining data and closes the file. */
int sonde_self_stop(void);
void sonde_self_forget(void);
int sonde_self_ask(const struct sonde_link_query *query, struct sonde_link_answer *out);
int sonde_self_ask_blocks(const struct sonde_link_blocks_question *question, struct sonde_link_blocks *out);
int sonde_self_errno(void);

#endif
