/* roofline_devices.h: theoretical ceilings of devices as panels of the roofline's picture, out of the report's section
 * `device-roofs`: a panel a device, or one for those that are alike. */
#ifndef SONDE_EXPORT_PLOT_ROOFLINE_DEVICES_H
#define SONDE_EXPORT_PLOT_ROOFLINE_DEVICES_H

#include <stdio.h>

#include "report/report.h"

/* In pixels; 0 = there is no device with a ceiling. */
int sonde_roofline_devices_height(const struct sonde_report *report);
/* Elements of an <svg> with the roofline's style, from `top` on. */
void sonde_roofline_devices_put(const struct sonde_report *report, int top, FILE *out);

#endif
