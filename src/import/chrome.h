/* chrome.h: trace events: their form while the file is read and their form as rows; private to the files chrome*.c.
 *
 * Each event becomes rows of 40 bytes, in the order of the file. The rows are then sorted by thread and time, on disk
 * if there are many (chrome_rows.c), and written to the recording (chrome_write.c). Simple arguments are buffered in a
 * separate temporary file.
 */
#ifndef SONDE_IMPORT_CHROME_H
#define SONDE_IMPORT_CHROME_H

#include <string.h>

#include "import/out.h"
#include "import/text.h"

#define SONDE_CHROME_TITLE "trace events (Chrome, Perfetto, PyTorch)"

#define SONDE_CHROME_TIME_MAX_NS (INT64_C(1) << 62) /* the year 2116: adding a duration cannot overflow */
#define SONDE_CHROME_DUR_MAX_NS (INT64_C(1) << 60)

enum sonde_chrome_kind {
	SONDE_CHROME_SLICE = 1, /* value: duration in ns */
	SONDE_CHROME_SPAN_BEGIN,
	SONDE_CHROME_SPAN_END, /* value: number of the span */
	SONDE_CHROME_INSTANT,
	SONDE_CHROME_GAUGE,  /* value: a double */
	SONDE_CHROME_SAMPLE, /* value: weight in ns; name: frame; args: thread, since samples are sorted only by time
			      */
};
#define SONDE_CHROME_SAMPLES UINT32_MAX /* thread of all rows of samples */

struct sonde_chrome_row {
	int64_t time_ns;
	uint64_t value;
	uint64_t args;   /* offset of the row's arguments in the file of arguments, + 1; 0 = none */
	uint32_t thread; /* thread index */
	uint32_t name;   /* number of the name or of the stack */
	uint32_t order;  /* position in the file, modulo 2³²: breaks ties */
	uint8_t kind;
	uint8_t reserved[3];
};
_Static_assert(sizeof(struct sonde_chrome_row) == 40, "packed row");

/* Interned texts, numbered from 1. */
struct sonde_chrome_names {
	struct sonde_map map;
	struct sonde_arena arena;
	struct sonde_string_row *rows;
	uint32_t count;
	size_t cap;
};

struct sonde_chrome_process {
	uint32_t key; /* text of the pid */
	uint32_t name, label;
	uint32_t id;
	uint64_t first_ns;
};

/* A slice that has begun (ph B) but not ended. */
struct sonde_chrome_open {
	int64_t time_ns;
	uint64_t args;
	uint32_t name;
};

struct sonde_chrome_thread {
	uint32_t process; /* index + 1 */
	uint32_t key;     /* text of the tid */
	uint32_t name;
	uint32_t id;               /* thread id in the recording */
	int64_t first_ns, last_ns; /* range of the thread's rows; first_ns INT64_MAX = no rows */
	int64_t last_edge_ns;      /* time of the last begin or end, in file order */
	int64_t last_slice_ns;     /* start of the previous complete slice */
	int by_end;                /* complete slices are listed by end time */
	struct sonde_chrome_open *open;
	uint32_t open_count, over;
	size_t open_cap;
};

/* A span that has begun; spans with the same key form a list, the most recently opened one first. */
struct sonde_chrome_span {
	uint32_t number; /* 0 = already ended */
	uint32_t before; /* index + 1 of the previously opened span of the key */
};

/* A V8 profile, which belongs to one thread. */
struct sonde_chrome_profile {
	uint32_t pid, thread; /* thread: index */
	int64_t time_ns;      /* time of its last sample */
};

/* Counts of events that were not imported. */
struct sonde_chrome_counts {
	uint64_t events, unclosed, unopened, flows, unknown, timeless, endless, objects, args, long_args, clipped,
	    overlaps, deep, unordered, names, samples, idle;
};

struct sonde_chrome_spill;

/* A frame of stackFrames or a node of a V8 profile. */
struct sonde_chrome_frame {
	uint32_t name, file, line;
	uint32_t parent; /* index + 1 of the parent, smaller than the frame's own, so there are no cycles */
	uint32_t node;   /* trie node in the recording */
};

/* Arrays of a V8 profile event: new nodes of its tree, and samples. */
struct sonde_chrome_node {
	uint64_t id, parent;
	uint32_t name, file, line;
};

enum { SONDE_CHROME_LIST_MAX = 1 << 22 };

struct sonde_chrome_list {
	uint64_t *values;
	uint32_t count;
	size_t cap;
};

struct sonde_chrome {
	struct sonde_import_job *job;
	struct sonde_chrome_names names;
	struct sonde_chrome_process *processes;
	uint32_t process_count;
	size_t process_cap;
	struct sonde_chrome_thread *threads;
	uint32_t thread_count;
	size_t thread_cap;
	struct sonde_map process_map, thread_map, span_map, site_map;
	struct sonde_chrome_span *spans;
	uint32_t span_count, span_number;
	size_t span_cap;
	struct sonde_chrome_profile *profiles;
	uint32_t profile_count;
	size_t profile_cap;
	struct sonde_chrome_frame *frames;
	uint32_t frame_count;
	size_t frame_cap;
	struct sonde_map frame_map, profile_map;
	uint32_t order;
	struct sonde_chrome_spill *spill;
	int args_fd;
	uint64_t args_b;
	struct sonde_buf args; /* arguments not yet written to their file */
	struct sonde_chrome_counts counts;
	int64_t min_ns, max_ns;
	uint64_t base_ns;
	int has_fractions, has_base;
	int is_cut; /* the file's text is truncated */
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

/* Reads the whole file into rows. */
int sonde_chrome_read(struct sonde_chrome *chrome);

/* --- chrome_events.c: one event -------------------------------------------------------------------------------- */

enum {
	SONDE_CHROME_ARGS_MAX = 32,    /* arguments of an event */
	SONDE_CHROME_ARG_MAX_B = 1024, /* size of a key or a text */
	SONDE_CHROME_ARGS_MAX_B = 16384,
};

struct sonde_chrome_arg {
	uint32_t key_at, key_b, text_at, text_b; /* offsets into `bytes` */
	uint32_t kind;                           /* enum sonde_arg_kind */
	uint64_t bits;
};

/* An argument as stored in the temporary file, followed by its key and its text. The first argument of an event is
 * preceded by the number of arguments, a u32. */
struct sonde_chrome_stored {
	uint64_t bits;
	uint16_t key_b, text_b;
	uint8_t kind;
} __attribute__((packed));

/* The parts of the current event that were read so far. Texts are in `bytes`. */
struct sonde_chrome_event {
	char phase;
	uint32_t name, category, pid, tid, scope; /* numbers of interned texts; 0 = none */
	uint64_t id;          /* hash of the id, 0 = none: there can be as many ids as events, too many to intern */
	uint32_t id_at, id_b; /* text of the id, which distinguishes counters of the same name */
	int is_global;        /* the id is shared by all processes */
	int has_time, has_dur;
	int64_t time_ns, dur_ns;
	/* The data of a V8 profile event. */
	struct sonde_chrome_node *nodes;
	uint32_t node_count;
	size_t node_cap;
	struct sonde_chrome_list samples, deltas, weights; /* deltas: int64_t in ns */
	int has_start;
	int64_t start_ns;
	struct sonde_chrome_arg args[SONDE_CHROME_ARGS_MAX];
	uint32_t arg_count;
	char bytes[SONDE_CHROME_ARGS_MAX_B];
	uint32_t bytes_b;
};

void sonde_chrome_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event);
/* Handles a V8 profile event: chrome_profile.c. */
void sonde_chrome_profile_take(struct sonde_chrome *chrome, const struct sonde_chrome_event *event);
/* Returns the index of the thread, which is created if new; UINT32_MAX = failed (error is set). */
uint32_t sonde_chrome_thread(struct sonde_chrome *chrome, uint32_t pid, uint32_t tid);
void sonde_chrome_row(struct sonde_chrome *chrome, const struct sonde_chrome_row *row, uint32_t thread);
/* Ends slices without an end event at the end of the file. */
void sonde_chrome_close(struct sonde_chrome *chrome);
void sonde_chrome_keep(struct sonde_chrome *chrome, int error); /* keeps the first error */
/* Makes space for one more row. */
int sonde_chrome_grow(struct sonde_chrome *chrome, void *rows, uint32_t count, size_t *cap, size_t row_b);
uint32_t sonde_chrome_name(struct sonde_chrome *chrome, const char *text, size_t len_b); /* "" is 0 */
const char *sonde_chrome_text(const struct sonde_chrome *chrome, uint32_t name);

/* --- chrome_fill.c: numbers and the parts of an event ----------------------------------------------------------- */

/* Parses "1234.5678" microseconds into ns, exactly unless there is an exponent. 1 = valid and in range, otherwise `out`
 * is unchanged. Sets `has_fraction` to 1 if there is a fraction. */
int sonde_chrome_read_micros(const char *text, size_t len_b, int64_t *out, int *has_fraction);
double sonde_chrome_read_real(const char *text, size_t len_b);
/* Parses an integer into two's complement; 0 = not an integer or out of range, `bits` is unchanged. */
int sonde_chrome_read_whole(const char *text, size_t len_b, uint64_t *bits, int *negative);

/* Clears an event, which may be zeroed, before the next one is read; its memory is kept for reuse. _end frees the
 * memory. */
void sonde_chrome_fill_begin(struct sonde_chrome_event *event);
void sonde_chrome_fill_end(struct sonde_chrome_event *event);
/* Stores a text and returns its position; 0 = no space left. */
int sonde_chrome_fill_bytes(struct sonde_chrome_event *event, const char *text, uint32_t len_b, uint32_t *at);
void sonde_chrome_fill_id(struct sonde_chrome_event *event, const char *text, size_t len_b, int is_global);
/* Adds an argument; `arg` has its kind and its key, which must be stored before (key_b 0: the key did not fit).
 * Arguments that do not fit are counted. */
void sonde_chrome_fill_arg(struct sonde_chrome *chrome, struct sonde_chrome_event *event, struct sonde_chrome_arg arg,
			   const char *text, size_t len_b);
/* The first function adds a number to a list, the second a node to the event. Returns 1, or 0 with chrome->error set:
 * there are too many, or memory is short. */
int sonde_chrome_fill_list(struct sonde_chrome *chrome, struct sonde_chrome_list *list, uint64_t value);
int sonde_chrome_fill_node(struct sonde_chrome *chrome, struct sonde_chrome_event *event);

/* --- chrome_rows.c: rows, sorted -------------------------------------------------------------------------------- */

int sonde_chrome_spill_new(struct sonde_chrome_spill **out, const char *folder);
void sonde_chrome_spill_free(struct sonde_chrome_spill *spill);
int sonde_chrome_spill_add(struct sonde_chrome_spill *spill, const struct sonde_chrome_row *row);
/* Call it after the last row was added. Rows are then read by thread and time, at equal times the longest first. */
int sonde_chrome_spill_sort(struct sonde_chrome_spill *spill);
/* Reads the next row; 1, 0 at the end, or a negative errno. */
int sonde_chrome_spill_next(struct sonde_chrome_spill *spill, struct sonde_chrome_row *out);

/* --- chrome_write.c: the recording ------------------------------------------------------------------------------ */

int sonde_chrome_write(struct sonde_chrome *chrome);

#endif
