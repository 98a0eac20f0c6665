/* runtime.h: the inside of libsonde: one process record, one page a thread, one pool.
 *
 * Everything that must not survive fork lies on pages that the child reads as zeros (MADV_WIPEONFORK), so a child of
 * fork, _Fork or raw clone finds limit 0 and state NEW and sets itself up again, whatever the parent was in the middle
 * of. Nothing here takes a lock or calls malloc: it may run in signal handlers.
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

/* Whose runtime this is (enum sonde_link_client): libsonde's, or an injected object's own copy. */
#ifndef SONDE_RUNTIME_CLIENT
#define SONDE_RUNTIME_CLIENT SONDE_LINK_ZONES
#endif

enum sonde_process_state {
	SONDE_PROCESS_NEW = 0, /* also what a forked child reads */
	SONDE_PROCESS_SETUP,   /* one thread connects; the others wait */
	SONDE_PROCESS_ON,
	SONDE_PROCESS_PAUSED,
	SONDE_PROCESS_OFF,
};

enum sonde_process_mode { SONDE_MODE_NONE = 0, SONDE_MODE_LINK, SONDE_MODE_SELF };

struct sonde_process {
	_Atomic uint32_t state; /* a futex word while SETUP */
	_Atomic uint32_t mode;
	_Atomic uint64_t threads; /* serials given */
	_Atomic uint32_t chunks;  /* seqs given */
	_Atomic(struct sonde_ring_pool *) pool;
	uint64_t pool_b;
	_Atomic uint32_t recording; /* its number, when this process writes them itself: pools are used again */
	_Atomic uint32_t mapped;    /* the first chunks: their pages are mapped already */
	uint32_t setup_tid;
	_Atomic uint32_t asking; /* one question at a time on the one socket */
	uint32_t unanswered;     /* of the questions: whose answers may yet come */
	int fd;                  /* of the link */
	dev_t fd_dev;            /* what it was, so that a reused number is noticed */
	ino_t fd_ino;
};

/* The record of this process, never NULL after the first success; NULL when memory is refused. */
struct sonde_process *sonde_process_get(void);
/* The pool events go to, set up when this is a new process; NULL = off. */
struct sonde_ring_pool *sonde_process_pool(struct sonde_process *process);
void sonde_process_off(struct sonde_process *process);
void sonde_process_lost(struct sonde_ring_pool *pool, enum sonde_ring_lost cause, uint64_t count);
/* Wakes the drainer, which gives the pool more memory; once until it has. */
void sonde_process_doorbell(struct sonde_process *process, struct sonde_ring_pool *pool);
/* Only wakes it. */
void sonde_process_wake(struct sonde_process *process, struct sonde_ring_pool *pool);

/* --- link.c -------------------------------------------------------------------------------------------------------*/

/* Connects to the recorder named in the environment, asks for a pool and maps it; 0 or a negative errno. */
int sonde_link_connect(struct sonde_process *process, const char *name, uint32_t flags);
int sonde_link_send(struct sonde_process *process, const void *message, size_t size_b);
void sonde_link_forget(void);
/* 0 while the recorder is there. */
int sonde_link_check(struct sonde_process *process);
/* Of the recorder at the other end of a socket: its pid (0: in another namespace); −1 = not our user's, nor root's. The
 * name is no secret once it is in use, and whoever finds it free may take it. */
pid_t sonde_link_peer(int fd);
#define SONDE_LINK_WAYS 5u
/* Where a recorder of that name is found (format/link.h), from `way` 0 on: as long as nobody is found there. The
 * address's size; 0 = the name says no such place. */
socklen_t sonde_link_address(struct sockaddr_un *out, const char *name, unsigned way);
/* Whether connecting failed (a negative errno) for want of a recorder. */
int sonde_link_is_nobody(int code);
/* Nobody who is stopped or dead answers soon. 0 also when that cannot be seen. */
int sonde_link_is_stopped(pid_t recorder);
/* A socket waits in steps; and how many of them make so many seconds. */
void sonde_link_step(int fd);
unsigned sonde_link_steps(unsigned seconds);
/* Waits for one message with at most one descriptor. Its size, or a negative errno: −EAGAIN after so many steps,
 * −EHOSTDOWN when the recorder was found stopped. */
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

/* One chain of chunks. Owner: its thread. */
struct sonde_chain {
	struct sonde_ring_chunk *chunk;
	uint64_t end; /* address after it; 0 = none */
	uint32_t last_seq;
};

/* Owner of all but `hot` and in_use: the thread. */
struct sonde_thread {
	struct sonde_hot hot;
	_Atomic uint32_t in_use;
	struct sonde_ring_pool *pool; /* what the chunks below belong to */
	struct sonde_chain zones;
	/* Words that interrupted events have reserved in no chunk: until they come to the slow path the limit is 0, or
	 * such an event could find itself below that of a chunk which a handler has taken meanwhile. Where a handler
	 * never returns to it (siglongjmp) that is for good. */
	uint64_t beyond;
	struct sonde_chain events;
	uint64_t event_cursor;
	uint32_t tid;
	uint64_t serial;
	uint32_t recording; /* that the chunks belong to */
	uint32_t busy;      /* in the slow path: what a signal handler adds is dropped and counted, */
	uint32_t skipped;   /* its zones as wholes: these are open, */
	uint32_t late;      /* and these ends of zones that it had begun in the fast path are stored by leave() */
	uint64_t late_ends[SONDE_THREAD_LATE];
	/* Events that found no room, reduced: first ends of recorded zones, then begins of zones still open. They are
	 * written when there is room again, so that nesting in the recording stays right. */
	uint32_t waited; /* in vain for a chunk */
	uint32_t taken;  /* chunks */
	uint32_t waited_long;
	uint32_t waits;  /* for a chunk also where others are dropped: what it writes is of a pool of the program's */
	uint32_t owed;   /* ends */
	uint32_t opened; /* begins */
	uint64_t depth_lost;
	uint64_t pending[SONDE_THREAD_PENDING];
	struct sonde_ring_chunk *counters;
	struct sonde_ring_chunk *hists[SONDE_THREAD_HISTS];
	uint32_t open[SONDE_THREAD_OPEN]; /* sites of sonde_begin() */
	uint32_t open_depth;
	/* Chunks of both chains, oldest first, for overwriting. */
	uint32_t owned_first, owned_count;
	struct {
		uint32_t index, seq;
	} owned[SONDE_THREAD_OWNED];
};

#define SONDE_THREAD_B 8192u
_Static_assert(sizeof(struct sonde_thread) <= SONDE_THREAD_B, "thread page");

/* The calling thread's page, registered when it is new, with errno untouched; NULL = off. A non-NULL answer has set
 * `busy` and needs sonde_thread_leave(). `pool`: where its events go. */
struct sonde_thread *sonde_thread_enter(struct sonde_ring_pool **pool);
void sonde_thread_leave(struct sonde_thread *thread);
/* The page if this thread has one for this process, without registering. */
struct sonde_thread *sonde_thread_current(void);
/* Site of the innermost open zone, found by reading the current chunk backwards; 0 = not in it. */
uint32_t sonde_thread_innermost(const struct sonde_thread *thread);
/* Makes every thread of the process ask again at its next event; `off`: or not even ask. */
void sonde_thread_interrupt_all(int off);
/* In a forked child, before anything else: the parent's pages are not this process's. */
void sonde_thread_forget_all(void);
/* Makes the key whose destructor sees threads end; once, and early. */
void sonde_thread_key(void);
/* This thread's next events need not even ask, unless recording begins. */
void sonde_thread_off(struct sonde_process *process);

/* --- chunk.c ------------------------------------------------------------------------------------------------------*/

/* A free chunk, its head filled in but for `kind`; NULL = none, after waiting as the pool's policy says. */
struct sonde_ring_chunk *sonde_chunk_take(struct sonde_thread *thread, struct sonde_ring_pool *pool);
/* The next chunk of a chain: seals the one before. 0, or −1 when there is none. */
int sonde_chain_next(struct sonde_thread *thread, struct sonde_ring_pool *pool, struct sonde_chain *chain,
		     enum sonde_ring_kind kind);

/* --- place.c ------------------------------------------------------------------------------------------------------*/

uint32_t sonde_place_id(struct sonde_ring_pool *pool, struct sonde_place *place);
uint32_t sonde_place_named(struct sonde_ring_pool *pool, uint32_t kind, const char *name);
/* Takes the sites of another pool over, so that ids given before stay right. */
void sonde_place_inherit(struct sonde_ring_pool *into, const struct sonde_ring_pool *from);
size_t sonde_place_text(struct sonde_ring_pool *pool, uint32_t id, char *out, size_t out_b);

/* --- event.c ------------------------------------------------------------------------------------------------------*/

/* Room for an event of `words`, with head.words marked and nothing published; NULL = lost, and counted. */
struct sonde_event *sonde_event_reserve(struct sonde_thread *thread, struct sonde_ring_pool *pool, uint32_t words);
/* Stores the head, which makes the event visible. */
void sonde_event_publish(struct sonde_event *event, const struct sonde_event *head);
/* Now, in the pool's clock. */
uint64_t sonde_event_time(const struct sonde_ring_pool *pool);
/* Tells of an event whose struct, of fixed_b bytes, begins with `head`, and of the bytes behind it: what the public
 * functions return. */
int sonde_event_send(struct sonde_event *head, size_t fixed_b, const void *more, size_t more_b);

/* --- self.c -------------------------------------------------------------------------------------------------------*/

/* Makes a pool in this process, opens the recording (may_number: under another name when the file exists) and starts
 * the drain thread; 0 or an enum sonde_code. */
int sonde_self_start(struct sonde_process *process, const char *path, int may_number,
		     const struct sonde_options *options);
/* Drains what is left and closes the file. */
int sonde_self_stop(void);
void sonde_self_forget(void);
int sonde_self_ask(const struct sonde_link_query *query, struct sonde_link_answer *out);
int sonde_self_ask_blocks(const struct sonde_link_blocks_question *question, struct sonde_link_blocks *out);
int sonde_self_errno(void);

#endif
