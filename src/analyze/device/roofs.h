/* roofs.h: what a device could do at most, computed from what its driver says of it. Nothing is measured: a
 * ceiling under which nothing has come yet, and which clocks that power limits never reach.
 *
 * FLOP/s = units × lanes of a unit × 2 (a multiplication and an addition) × the highest clock. How many lanes a unit
 * has its compute capability says: results a clock and multiprocessor of the CUDA C++ Programming Guide ("Throughput of
 * Native Arithmetic Instructions"), from 8.0 on those that the published peaks of its chips come to. The bandwidth of
 * its memory is what the driver says that it is.
 */
#ifndef SONDE_ANALYZE_DEVICE_ROOFS_H
#define SONDE_ANALYZE_DEVICE_ROOFS_H

#include "report/report.h"
#include "session/session.h"

enum sonde_device_roof { SONDE_DEVICE_FP32, SONDE_DEVICE_FP64, SONDE_DEVICE_TENSOR_FP16, SONDE_DEVICE_ROOFS };

/* FLOP/s; of tensor cores with dense matrices. NULL, or why it is not known: then `out` is as it was. `lanes` (may be
 * NULL): of a unit. */
const char *sonde_device_roof_flops(double *out, uint32_t *lanes, const struct sonde_device *device,
				    enum sonde_device_roof roof);

/* Section `device-roofs`, if the recording has a device. -ENOMEM. */
int sonde_device_roofs_add(const struct sonde_session *session, struct sonde_report *report);

#endif
