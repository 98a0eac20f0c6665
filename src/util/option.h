/* option.h: tables of command-line options: parsing, help, completion and the man page are made from their rows.
 *
 * A table ends with a row of zeros. A row may include another table. So a source can keep its options in its own file,
 * and a command only says where they are shown. To iterate over all options:
 *
 *	struct sonde_option_walk walk = {.at = table};
 *	for (const struct sonde_option *option; (option = sonde_option_next(&walk));)
 */
#ifndef SONDE_UTIL_OPTION_H
#define SONDE_UTIL_OPTION_H

#include <stddef.h>
#include <stdint.h>

/* How the parser stores an option's value. */
enum sonde_takes {
	SONDE_TAKES_NOTHING = 0, /* found() is called */
	SONDE_TAKES_FLAG,        /* int: 1 */
	SONDE_TAKES_TEXT,        /* const char * */
	SONDE_TAKES_NUMBER,      /* uint64_t */
	SONDE_TAKES_PID,         /* pid_t */
	SONDE_TAKES_TIME,        /* uint64_t, ns */
	SONDE_TAKES_SIZE,        /* uint64_t, bytes */
	SONDE_TAKES_BY,          /* `set` is called; with NULL if an optional value was not given */
	SONDE_TAKES_TABLE,       /* not an option: includes the rows of `table` */
};

/* Where the value is stored: in the struct that is the context of the parse. */
struct sonde_option;

struct sonde_place {
	enum sonde_takes takes;
	size_t at;                                    /* in the struct */
	uint64_t least, most;                         /* most 0 = no limit */
	int (*set)(void *context, const char *value); /* 0 or a negative errno with a message */
	const struct sonde_option *const *table;      /* NULL = an empty table */
};

struct sonde_option {
	const char *name;     /* long name without dashes: "rate" */
	char letter;          /* 0 = none */
	const char *argument; /* "HZ"; NULL = a flag; "[=X]" = optional argument */
	const char *help;     /* with the measured overhead, if it has any */
	struct sonde_place place;
};

/* `to`: offsetof() in that struct. */
#define SONDE_FOUND                          \
	{                                    \
		.takes = SONDE_TAKES_NOTHING \
	}
#define SONDE_FLAG(to)                                \
	{                                             \
		.takes = SONDE_TAKES_FLAG, .at = (to) \
	}
#define SONDE_TEXT(to)                                \
	{                                             \
		.takes = SONDE_TAKES_TEXT, .at = (to) \
	}
#define SONDE_NUMBER(to, min, max)                                                     \
	{                                                                              \
		.takes = SONDE_TAKES_NUMBER, .at = (to), .least = (min), .most = (max) \
	}
#define SONDE_PID(to)                                \
	{                                            \
		.takes = SONDE_TAKES_PID, .at = (to) \
	}
#define SONDE_TIME(to, min_ns)                                           \
	{                                                                \
		.takes = SONDE_TAKES_TIME, .at = (to), .least = (min_ns) \
	}
#define SONDE_SIZE(to, min_b)                                           \
	{                                                               \
		.takes = SONDE_TAKES_SIZE, .at = (to), .least = (min_b) \
	}
#define SONDE_BY(function)                                 \
	{                                                  \
		.takes = SONDE_TAKES_BY, .set = (function) \
	}

/* A row for `&source.options`. */
#define SONDE_TABLE(pointer)                                           \
	{                                                              \
		NULL, 0, NULL, NULL,                                   \
		{                                                      \
			.takes = SONDE_TAKES_TABLE, .table = (pointer) \
		}                                                      \
	}

/* Tables nest one level deep: an included table has only options. */
struct sonde_option_walk {
	const struct sonde_option *at;   /* NULL = no table */
	const struct sonde_option *back; /* where to continue after the included table */
};

/* The next option; NULL after the last. */
static inline const struct sonde_option *sonde_option_next(struct sonde_option_walk *walk)
{
	while (walk->at) {
		const struct sonde_option *option = walk->at++;
		if (option->name)
			return option;
		int is_table = option->place.takes == SONDE_TAKES_TABLE;
		if (is_table && *option->place.table) {
			walk->back = walk->at;
			walk->at = *option->place.table;
		} else if (!is_table) {
			walk->at = walk->back;
			walk->back = NULL;
		}
	}
	return NULL;
}

#endif
