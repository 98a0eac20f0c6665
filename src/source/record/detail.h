/* detail.h: the detail of a source's SOURCE record: what was not recorded, and why; sentences joined by "; ".
 *
 *	struct sonde_detail detail = {0};
 *	if (run->hidden)
 *		sonde_detail_add(&detail, "%u processes were hidden", run->hidden);
 *	state.detail = sonde_detail_text(&detail);
 */
#ifndef SONDE_SOURCE_RECORD_DETAIL_H
#define SONDE_SOURCE_RECORD_DETAIL_H

#include <stddef.h>

struct sonde_detail {
	char text[4096]; /* longer text is cut off */
	size_t used;
};

/* add() adds a sentence; more() continues the last one. */
void sonde_detail_add(struct sonde_detail *detail, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sonde_detail_more(struct sonde_detail *detail, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text, or NULL if nothing was added. */
static inline const char *sonde_detail_text(const struct sonde_detail *detail)
{
	return detail->used ? detail->text : NULL;
}

#endif
