/* text.h: the text that an event of the program carries. */
#ifndef SONDE_TRACKS_TEXT_H
#define SONDE_TRACKS_TEXT_H

#include "format/event.h"

#define SONDE_TRACK_TEXT_B 1024 /* longer texts are cut */

/* The text of an INSTANT, MESSAGE or ZONE_NAME; "" where it has none, or claims more than its record holds. */
void sonde_track_text(const struct sonde_event *event, char out[SONDE_TRACK_TEXT_B]);

#endif
