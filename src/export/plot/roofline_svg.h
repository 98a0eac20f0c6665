/* roofline_svg.h: draws a report's sections `roofline`, `roofs` and `device-roofs`, for several formats. */
#ifndef SONDE_EXPORT_PLOT_ROOFLINE_SVG_H
#define SONDE_EXPORT_PLOT_ROOFLINE_SVG_H

#include <stdio.h>

#include "report/report.h"

/* Returns the height in pixels, including the panels of devices below the machine's picture. */
int sonde_roofline_height(const struct sonde_report *report);

/* Writes an <svg> element without an XML declaration. -ENODATA with a message if there is nothing to draw. */
int sonde_roofline_svg(const struct sonde_report *report, FILE *out);

/* Formats only for `sonde roofline`: they are not in formats.def, because they show just these sections. */
struct sonde_format;
extern const struct sonde_format sonde_format_roofline_svg, sonde_format_roofline_html, sonde_format_roofline_png;

#endif
