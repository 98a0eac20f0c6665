/* roofline_devices.h: theoretical ceilings of GPUs as panels of the roofline picture, from the report's section
 * `device-roofs`: one panel per GPU, or one for several equal ones. */
#ifndef SONDE_EXPORT_PLOT_ROOFLINE_DEVICES_H
#define SONDE_EXPORT_PLOT_ROOFLINE_DEVICES_H

#include <stdio.h>

#include "report/report.h"

/* Returns the height in pixels; 0 = no device has a ceiling. */
int sonde_roofline_devices_height(const struct sonde_report *report);
/* Writes elements of an <svg> with the roofline's style, from `top` on. */
void sonde_roofline_devices_put(const struct sonde_report *report, int top, FILE *out);

#endif
