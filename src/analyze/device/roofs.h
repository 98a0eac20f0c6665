/* roofs.h: a GPU's theoretical peak rates, computed from what its driver reports. Nothing is measured. The rates are
 * upper limits: real programs do not reach them, and clocks stay below their maximum under a power limit.
 *
 * FLOP/s = units × lanes per unit × 2 (a multiplication and an addition) × maximum clock. The lanes per unit follow
 * from the compute capability. Below 8.0, they are the results per clock and multiprocessor in the CUDA C++ Programming
 * Guide ("Throughput of Native Arithmetic Instructions"); from 8.0 on, they are computed from the published peaks of
 * the chips with that capability. The memory bandwidth is the one that the driver reports.
 */
#ifndef SONDE_ANALYZE_DEVICE_ROOFS_H
#define SONDE_ANALYZE_DEVICE_ROOFS_H

#include "report/report.h"
#include "session/session.h"

enum sonde_device_roof { SONDE_DEVICE_FP32, SONDE_DEVICE_FP64, SONDE_DEVICE_TENSOR_FP16, SONDE_DEVICE_ROOFS };

/* FLOP/s; for tensor cores, with dense matrices. Returns NULL, or why it is unknown: then `out` is unchanged. `lanes`
 * (may be NULL): lanes per unit. */
const char *sonde_device_roof_flops(double *out, uint32_t *lanes, const struct sonde_device *device,
				    enum sonde_device_roof roof);

/* Adds the section `device-roofs` if the recording has a GPU. -ENOMEM. */
void sonde_device_roofs_add(const struct sonde_session *session, struct sonde_report *report);

#endif
