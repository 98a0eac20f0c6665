/* raster.h: renders an SVG picture as PNG. */
#ifndef SONDE_EXPORT_PLOT_RASTER_H
#define SONDE_EXPORT_PLOT_RASTER_H

#include <stdio.h>

enum { SONDE_RASTER_SCALE = 2 }; /* pixels per unit of the picture */

/* A function that writes the picture as an <svg> element. 0, or a negative errno with a message. */
typedef int sonde_raster_draw(const void *context, FILE *out);

/* Renders a picture of width × height units. -ENOSYS with a message if the rendering libraries are not installed. */
int sonde_raster_png(sonde_raster_draw *draw, const void *context, int width, int height, FILE *out);

#endif
