/* next.h: finds the function that a hook stands in front of. */
#ifndef SONDE_INJECT_NEXT_H
#define SONDE_INJECT_NEXT_H

/* The function that would be called without us, or NULL. */
void *inject_next(const char *name);

#endif
