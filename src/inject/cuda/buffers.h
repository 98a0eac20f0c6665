/* buffers.h: the buffers that CUPTI writes records into. Lock-free: any thread of the program may call these functions.
 *
 * A buffer is free, with CUPTI, or full; the thread that changes its state owns it.
 */
#ifndef SONDE_INJECT_CUDA_BUFFERS_H
#define SONDE_INJECT_CUDA_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_BUFFER_B ((size_t)4 << 20)
#define CUDA_BUFFERS 32u
#define CUDA_BUFFER_SMALL_B ((size_t)64 << 10) /* used if there are no others, and CUPTI cannot be refused */
#define CUDA_BUFFERS_SMALL 1024u
#define CUDA_BUFFERS_ALL (CUDA_BUFFERS + CUDA_BUFFERS_SMALL)

/* A free buffer of *size_b bytes; NULL: none is left. `may_refuse`: CUPTI accepts a refusal (from 12.9 on). */
uint8_t *cuda_buffers_give(size_t *size_b, int may_refuse);
/* Takes back a buffer into which CUPTI has written valid_b bytes, for our thread to decode. */
void cuda_buffers_full(uint8_t *buffer, size_t valid_b);
/* Number of buffers that CUPTI has. */
uint32_t cuda_buffers_lent(void);
/* Takes at most `max` full buffers, oldest first; returns their number. */
size_t cuda_buffers_take(uint32_t *out, size_t max);
uint8_t *cuda_buffers_bytes(uint32_t buffer, size_t *valid_b);
void cuda_buffers_free(uint32_t buffer);

#endif
