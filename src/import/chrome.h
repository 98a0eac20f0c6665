/* chrome.h: trace events: what an event is while the file is read and what it becomes, for the files chrome*.c.
 *
 * An event that is read becomes rows of 40 bytes in order of the file (chrome_rows.c), which are sorted by thread and
 * time, outside of memory when they are many, and then written (chrome_write.c). Its simple arguments wait in a file of
 * their own.
 */
#ifndef SONDE_IMPORT_CHROME_H
#define SONDE_IMPORT_CHROME_H

#include <string.h>

#include "import/out.h"
#include "import/text.h"

#define SONDE_CHROME_TITLE "trace events (Chrome, Perfetto, PyTorch)"

#define SONDE_CHROME_TIME_MAX_NS (INT64_C(1) << 62) /* the year 2116: sums of it and a duration fit */
#define SONDE_CHROME_DUR_MAX_NS (INT64_C(1) << 60)

enum sonde_chrome_kind {
	SONDE_CHROME_SLICE = 1, /* value: ns that it lasts */
	SONDE_CHROME_SPAN_BEGIN,
	SONDE_CHROME_SPAN_END, /* value: its number */
	SONDE_CHROME_INSTANT,
	SONDE_CHROME_GAUGE,  /* value: a double */
	SONDE_CHROME_SAMPLE, /* value: ns that it weighs; name: frame, args: thread, for samples come by time alone */
};
#define SONDE_CHROME_SAMPLES UINT32_MAX /* as the thread of samples' rows */

struct sonde_chrome_row {
	int64_t time_ns;
	uint64_t value;
	uint64_t args;   /* where its arguments begin in their file, + 1; 0 = it has none */
	uint32_t thread; /* number of the thread */
	uint32_t name;   /* number of the name, or the stack */
	uint32_t order;  /* in the file, as far as it matters */
	uint8_t kind;
	uint8_t reserved[3];
};
_Static_assert(sizeof(struct sonde_chrome_row) == 40, "packed row");

/* Numbers for texts, from 1. */
struct sonde_chrome_names {
	struct sonde_map map;
	struct sonde_arena arena;
	struct sonde_string_row *rows;
	uint32_t count, cap;
};

struct sonde_chrome_process {
	uint32_t key; /* text of its pid */
	uint32_t name, label;
	uint32_t id;
	uint64_t first_ns;
};

/* A slice that has begun (ph B) and not ended. */
struct sonde_chrome_open {
	int64_t time_ns;
	uint64_t args;
	uint32_t name;
};

struct sonde_chrome_thread {
	uint32_t process; /* index + 1 */
	uint32_t key;     /* text of its tid */
	uint32_t name;
	uint32_t id;               /* of the recording */
	int64_t first_ns, last_ns; /* of its rows; first_ns INT64_MAX = it has none */
	int64_t last_edge_ns;      /* of begins and ends, in the order of the file */
	int64_t last_slice_ns;     /* start of the complete one before */
	int by_end;                /* complete slices stand in the order of their ends */
	struct sonde_chrome_open *open;
	uint32_t open_count, open_cap, over;
};

/* A span that has begun; of those with one key the last. */
struct sonde_chrome_span {
	uint32_t number; /* 0 = it has ended */
	uint32_t before; /* index + 1 */
};

/* A V8 profile: of one thread. */
struct sonde_chrome_profile {
	uint32_t pid, thread; /* thread: index */
	int64_t time_ns;      /* of its last sample */
};

/* What was not kept, counted. */
struct sonde_chrome_counts {
	uint64_t events, unclosed, unopened, flows, unknown, timeless, endless, objects, args, long_args, clipped,
	    overlaps, deep, unordered, names, samples, idle;
};

struct sonde_chrome_spill;

/* A frame of stackFrames, or a node of a V8 profile. */
struct sonde_chrome_frame {
	uint32_t name, file, line;
	uint32_t parent; /* index + 1, smaller than its own: no circles */
	uint32_t node;   /* of the recording */
};

/* Arrays of a V8 profile's event: what is new of its tree, and samples. */
struct sonde_chrome_node {
	uint64_t id, parent;
	uint32_t name, file, line;
};

enum { SONDE_CHROME_LIST_MAX = 1 << 22 };

struct sonde_chrome_list {
	uint64_t *values;
	uint32_t count, cap;
};

struct sonde_chrome {
	struct sonde_import_job *job;
	struct sonde_chrome_names names;
	struct sonde_chrome_process *processes;
	uint32_t process_count, process_cap;
	struct sonde_chrome_thread *threads;
	uint32_t thread_count, thread_cap;
	struct sonde_map process_map, thread_map, span_map, site_map;
	struct sonde_chrome_span *spans;
	uint32_t span_count, span_cap, span_number;
	struct sonde_chrome_profile *profiles;
	uint32_t profile_count, profile_cap;
	struct sonde_chrome_frame *frames;
	uint32_t frame_count, frame_cap;
	struct sonde_map frame_map, profile_map;
	uint32_t order;
	struct sonde_chrome_spill *spill;
	int args_fd;
	uint64_t args_b;
	struct sonde_buf args; /* not yet in the file */
	struct sonde_chrome_counts counts;
	int64_t min_ns, max_ns;
	uint64_t base_ns;
	int has_fractions, has_base;
	int is_cut; /* the text ended early */
	int error;
};

static inline int sonde_chrome_matches(const uint8_t *bytes, size_t size_b, int gz)
{
	size_t at = sonde_text_space(bytes, size_b);
	(void)gz;
	if (at == size_b || !sonde_text_is(bytes + at, size_b - at < 256 ? size_b - at : 256))
		return 0;
	if (!sonde_text_is_json(bytes, size_b))
		return 0;
	return memmem(bytes, size_b, "\"traceEvents\"", 13) || memmem(bytes, size_b, "\"ph\"", 4) ? 2 : 1;
}

/* --- chrome_json.c: the text ------------------------------------------------------------------------------------ */

/* Reads all of it into rows. */
int sonde_chrome_read(struct sonde_chrome *chrome);

/* --- chrome_events.c: one event -------------------------------------------------------------------------------- */

enum {
	SONDE_CHROME_ARGS_MAX = 32,    /* of an event */
	SONDE_CHROME_ARG_MAX_B = 1024, /* a key or a text */
	SONDE_CHROME_ARGS_MAX_B = 16384,
};

struct sonde_chrome_arg {
	uint32_t key_at, key_b, text_at, text_b; /* in `bytes` */
	uint32_t kind;                           /* enum sonde_arg_kind */
	uint64_t bits;
};

/* An argument as it waits in its file: then its key, then its text. Before the first stands how many, a u32. */
struct sonde_chrome_stored {
	uint64_t bits;
	uint16_t key_b, text_b;
	uint8_t kind;
} __attribute__((packed));

/* What has been read of an event. Texts lie in `bytes`. */
struct sonde_chrome_event {
	char phase;
	uint32_t name, category, pid, tid, scope; /* numbers of names; 0 = none */
	uint64_t id;          /* a hash of it, 0 = none: of ids there are as many as events, too many to be kept */
	uint32_t id_at, id_b; /* its text; counters of one name are told apart by it */
	int is_global;        /* the id is of all processes */
	int has_time, has_dur;
	int64_t time_ns, dur_ns;
	/* Of a V8 profile. */
	struct sonde_chrome_node *nodes;
	uint32_t node_count, node_cap;
	struct sonde_chrome_list samples, deltas, weights; /* deltas: int64_t ns */
	int has_start;
	int64_t start_ns;
	struct sonde_chrome_arg args[SONDE_CHROME_ARGS_MAX];
	uint32_t arg_count;
	char bytes[SONDE_CHROME_ARGS_MAX_B];
	uint32_t bytes_b;
};

void sonde_chrome_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event);
/* Of a V8 profile: chrome_profile.c. */
void sonde_chrome_profile_take(struct sonde_chrome *chrome, const struct sonde_chrome_event *event);
/* The thread's index, made when it is new; UINT32_MAX = none (error is set). */
uint32_t sonde_chrome_thread(struct sonde_chrome *chrome, uint32_t pid, uint32_t tid);
void sonde_chrome_row(struct sonde_chrome *chrome, const struct sonde_chrome_row *row, uint32_t thread);
/* Slices that were not ended end with the file. */
void sonde_chrome_close(struct sonde_chrome *chrome);
uint32_t sonde_chrome_name(struct sonde_chrome *chrome, const char *text, size_t len_b); /* "" is 0 */
const char *sonde_chrome_text(const struct sonde_chrome *chrome, uint32_t name);

/* --- chrome_fill.c: numbers, and what is read of an event ------------------------------------------------------- */

/* ns of "1234.5678" microseconds, exact where there is no exponent; 1 = it is a number that fits, else `out` stays.
 * `has_fraction` becomes 1 where it has one. */
int sonde_chrome_read_micros(const char *text, size_t len_b, int64_t *out, int *has_fraction);
double sonde_chrome_read_real(const char *text, size_t len_b);
/* A whole number, in two's complement; 0: it is none, or does not fit, and `bits` stays. */
int sonde_chrome_read_whole(const char *text, size_t len_b, uint64_t *bits, int *negative);

/* Makes an event ready to be read, with the memory of the one before (all 0: of none), which _end gives back. */
void sonde_chrome_fill_begin(struct sonde_chrome_event *event);
void sonde_chrome_fill_end(struct sonde_chrome_event *event);
/* Keeps a text and says where it lies; 0: there is no room. */
int sonde_chrome_fill_bytes(struct sonde_chrome_event *event, const char *text, uint32_t len_b, uint32_t *at);
void sonde_chrome_fill_id(struct sonde_chrome_event *event, const char *text, size_t len_b, int is_global);
/* `arg` with its key, which is kept already (key_b 0: is not), and its kind; what has no room is counted. */
void sonde_chrome_fill_arg(struct sonde_chrome *chrome, struct sonde_chrome_event *event, struct sonde_chrome_arg arg,
			   const char *text, size_t len_b);
/* A number more; room for a node behind the last. 1, or 0 with chrome->error where there are too many. */
int sonde_chrome_fill_list(struct sonde_chrome *chrome, struct sonde_chrome_list *list, uint64_t value);
int sonde_chrome_fill_node(struct sonde_chrome *chrome, struct sonde_chrome_event *event);

/* --- chrome_rows.c: rows, sorted -------------------------------------------------------------------------------- */

int sonde_chrome_spill_new(struct sonde_chrome_spill **out, const char *folder);
void sonde_chrome_spill_free(struct sonde_chrome_spill *spill);
int sonde_chrome_spill_add(struct sonde_chrome_spill *spill, const struct sonde_chrome_row *row);
/* No more are added; from now on they come by thread and time, of one time what lasts longest first. */
int sonde_chrome_spill_sort(struct sonde_chrome_spill *spill);
/* The next row; 1, 0 at the end, or a negative errno. */
int sonde_chrome_spill_next(struct sonde_chrome_spill *spill, struct sonde_chrome_row *out);

/* --- chrome_write.c: the recording ------------------------------------------------------------------------------ */

int sonde_chrome_write(struct sonde_chrome *chrome);

#endif
