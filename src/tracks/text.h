/* text.h: the text of a program's event. */
#ifndef SONDE_TRACKS_TEXT_H
#define SONDE_TRACKS_TEXT_H

#include "format/event.h"

#define SONDE_TRACK_TEXT_B 1024 /* longer texts are truncated */

/* The text of an INSTANT, MESSAGE or ZONE_NAME; "" if it has none, or its length exceeds its record. */
void sonde_track_text(const struct sonde_event *event, char out[SONDE_TRACK_TEXT_B]);

#endif
