/* connect.h: an injected object's link to the recorder, without a descriptor that stays open in the program. */
#ifndef SONDE_INJECT_CONNECT_H
#define SONDE_INJECT_CONNECT_H

#include <stddef.h>

#include "runtime/runtime.h"

/* On a page that a forked child reads as zeros: it finds state NEW and connects for itself. */
struct inject_link {
	struct sonde_process process;
	uint32_t tries;
};

/* Told when connecting: enum sonde_link_flag. */
extern uint32_t inject_connect_flags;

/* Takes the name of the recorder's socket out of the environment; 0 = there is none. */
int inject_connect_name(void);

/* `size_b` zeroed bytes that a forked child reads as zeros; NULL = none. */
void *inject_connect_page(size_t size_b);

/* The process's pool, after connecting when nobody has tried yet; NULL = none: process.state says whether to ask again.
 * Usable in signal handlers. */
struct sonde_ring_pool *inject_connect_pool(struct inject_link *link);

/* Sends a message without waiting for anybody; size 0: none, the connection alone wakes the recorder. */
void inject_connect_send(const void *message, size_t size_b);

/* Nobody listens there any more; also in another network namespace. */
int inject_connect_is_gone(void);

/* Sends `question` and waits, `wait_s` at most, for an answer of exactly `answer_b` bytes and perhaps a descriptor
 * (*fd, else −1); 0 or a negative errno. */
int inject_connect_ask(const void *question, size_t question_b, void *answer, size_t answer_b, int *fd, int wait_s);

#endif
