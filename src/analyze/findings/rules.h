/* rules.h: the trigger functions of the rules, by subject. Each adds its findings to `found` and returns 0 or
 * -ENOMEM. */
#ifndef SONDE_ANALYZE_FINDINGS_RULES_H
#define SONDE_ANALYZE_FINDINGS_RULES_H

#include "analyze/critical/critical.h"
#include "analyze/findings/findings.h"

#define SONDE_EVALUATE(name) int sonde_evaluate_##name(const struct sonde_facts *facts, struct sonde_found *found)

/* findings/cpu.c */
SONDE_EVALUATE(hot_function);
SONDE_EVALUATE(many_calls);
SONDE_EVALUATE(page_faults);
SONDE_EVALUATE(allocator);
SONDE_EVALUATE(profiler_cost);
SONDE_EVALUATE(idle_energy);

/* findings/sharing.c */
SONDE_EVALUATE(false_sharing);

/* findings/starved.c */
SONDE_EVALUATE(starved);

/* findings/threads.c */
SONDE_EVALUATE(imbalance);
SONDE_EVALUATE(serial);
SONDE_EVALUATE(lock);
SONDE_EVALUATE(interpreter_lock);
SONDE_EVALUATE(hand_overs);
SONDE_EVALUATE(sleeping);
SONDE_EVALUATE(spawn);

/* findings/memory.c */
SONDE_EVALUATE(hotspot);
SONDE_EVALUATE(leak);
SONDE_EVALUATE(fragmentation);

/* findings/io.c */
SONDE_EVALUATE(small_writes);
SONDE_EVALUATE(small_reads);
SONDE_EVALUATE(sync);
SONDE_EVALUATE(loading);
SONDE_EVALUATE(files);

/* findings/work.c */
SONDE_EVALUATE(low_throughput);
SONDE_EVALUATE(below_roof);
SONDE_EVALUATE(memory_bound);
SONDE_EVALUATE(small_blas);

/* findings/devices.c */
SONDE_EVALUATE(device_starved);
SONDE_EVALUATE(tiny_kernels);
SONDE_EVALUATE(device_idle);
SONDE_EVALUATE(device_gap);
SONDE_EVALUATE(step_sync);

/* findings/device_work.c */
SONDE_EVALUATE(pageable_copies);
SONDE_EVALUATE(blocking_copies);
SONDE_EVALUATE(serial_copies);
SONDE_EVALUATE(small_copies);
SONDE_EVALUATE(low_occupancy);
SONDE_EVALUATE(small_grid);
SONDE_EVALUATE(ragged_blocks);
SONDE_EVALUATE(device_allocations);
SONDE_EVALUATE(device_full);
SONDE_EVALUATE(device_reserve);
SONDE_EVALUATE(device_slowed);

/* findings/device_ranks.c */
SONDE_EVALUATE(exposed_communication);
SONDE_EVALUATE(late_rank);

/* findings/device_staged.c */
SONDE_EVALUATE(staged_copies);

/* findings/device_matrix.c */
SONDE_EVALUATE(idle_matrix_units);

#endif
