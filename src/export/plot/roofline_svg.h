/* roofline_svg.h: the picture of a report's sections `roofline`, `roofs` and `device-roofs`, for the formats that show
 * it. */
#ifndef SONDE_EXPORT_PLOT_ROOFLINE_SVG_H
#define SONDE_EXPORT_PLOT_ROOFLINE_SVG_H

#include <stdio.h>

#include "report/report.h"

/* In pixels: devices have panels of their own below the machine. */
int sonde_roofline_height(const struct sonde_report *report);

/* Writes an <svg> element, without an XML declaration. -ENODATA with a sentence when there is nothing to draw. */
int sonde_roofline_svg(const struct sonde_report *report, FILE *out);

/* Of `sonde roofline` alone: not in formats.def, since they show two sections and nothing else. */
struct sonde_format;
extern const struct sonde_format sonde_format_roofline_svg, sonde_format_roofline_html, sonde_format_roofline_png;

#endif
