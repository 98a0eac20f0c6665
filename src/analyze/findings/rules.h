/* rules.h: the trigger functions of the rules, by subject. Each adds its findings to `found` and returns 0 or
 * -ENOMEM. */
#ifndef SONDE_ANALYZE_FINDINGS_RULES_H
#define SONDE_ANALYZE_FINDINGS_RULES_H

#include "analyze/critical/critical.h"
#include "analyze/findings/findings.h"

#define SONDE_JUDGE(name) int sonde_judge_##name(const struct sonde_facts *facts, struct sonde_found *found)

/* findings/cpu.c */
SONDE_JUDGE(hot_function);
SONDE_JUDGE(many_calls);
SONDE_JUDGE(page_faults);
SONDE_JUDGE(allocator);
SONDE_JUDGE(profiler_cost);
SONDE_JUDGE(idle_energy);

/* findings/sharing.c */
SONDE_JUDGE(false_sharing);

/* findings/starved.c */
SONDE_JUDGE(starved);

/* findings/threads.c */
SONDE_JUDGE(imbalance);
SONDE_JUDGE(serial);
SONDE_JUDGE(lock);
SONDE_JUDGE(interpreter_lock);
SONDE_JUDGE(hand_overs);
SONDE_JUDGE(sleeping);
SONDE_JUDGE(spawn);

/* findings/memory.c */
SONDE_JUDGE(hotspot);
SONDE_JUDGE(leak);
SONDE_JUDGE(fragmentation);

/* findings/io.c */
SONDE_JUDGE(small_writes);
SONDE_JUDGE(small_reads);
SONDE_JUDGE(sync);
SONDE_JUDGE(loading);
SONDE_JUDGE(files);

/* findings/work.c */
SONDE_JUDGE(low_throughput);
SONDE_JUDGE(below_roof);
SONDE_JUDGE(memory_bound);
SONDE_JUDGE(small_blas);

/* findings/devices.c */
SONDE_JUDGE(device_starved);
SONDE_JUDGE(tiny_kernels);
SONDE_JUDGE(device_idle);
SONDE_JUDGE(device_gap);
SONDE_JUDGE(step_sync);

/* findings/device_work.c */
SONDE_JUDGE(pageable_copies);
SONDE_JUDGE(blocking_copies);
SONDE_JUDGE(serial_copies);
SONDE_JUDGE(small_copies);
SONDE_JUDGE(low_occupancy);
SONDE_JUDGE(small_grid);
SONDE_JUDGE(ragged_blocks);
SONDE_JUDGE(device_allocations);
SONDE_JUDGE(device_full);
SONDE_JUDGE(device_reserve);
SONDE_JUDGE(device_slowed);

/* findings/device_ranks.c */
SONDE_JUDGE(exposed_communication);
SONDE_JUDGE(late_rank);

/* findings/device_staged.c */
SONDE_JUDGE(staged_copies);

/* findings/device_matrix.c */
SONDE_JUDGE(idle_matrix_units);

#endif
