/* quantity.h: parses quantities as users type them: "10s", "250ms", "64M". */
#ifndef SONDE_UTIL_QUANTITY_H
#define SONDE_UTIL_QUANTITY_H

#include <stdint.h>

/* ns from "1.5s", "250ms", "10us", "3m", "2h"; a bare number is in seconds. -EINVAL with a message. */
int sonde_quantity_duration(uint64_t *out_ns, const char *text);

/* Bytes from "4096", "64K", "16M", "1G" (powers of 1024, with an optional B or iB suffix). -EINVAL with a message. */
int sonde_quantity_bytes(uint64_t *out_b, const char *text);

/* A fraction below 1 from "1%", "0.5 %" or "0.01". -EINVAL with a message. */
int sonde_quantity_share(double *out, const char *text);

/* An integer from `min` to `max`. -EINVAL with a message that names the range. */
int sonde_quantity_integer(uint64_t *out, const char *text, uint64_t min, uint64_t max);

#endif
