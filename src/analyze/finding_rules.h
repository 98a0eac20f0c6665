/* finding_rules.h: the triggers of rules, by what they are about. Each adds what it finds to `found`: 0 or -ENOMEM. */
#ifndef SONDE_ANALYZE_FINDING_RULES_H
#define SONDE_ANALYZE_FINDING_RULES_H

#include "analyze/findings.h"

#define SONDE_JUDGE(name) int sonde_judge_##name(const struct sonde_facts *facts, struct sonde_found *found)

/* finding_cpu.c */
SONDE_JUDGE(hot_function);
SONDE_JUDGE(many_calls);
SONDE_JUDGE(page_faults);
SONDE_JUDGE(allocator);
SONDE_JUDGE(profiler_cost);
SONDE_JUDGE(idle_energy);

/* finding_sharing.c */
SONDE_JUDGE(false_sharing);

/* finding_starved.c */
SONDE_JUDGE(starved);

/* finding_threads.c */
SONDE_JUDGE(imbalance);
SONDE_JUDGE(serial);
SONDE_JUDGE(lock);
SONDE_JUDGE(interpreter_lock);
SONDE_JUDGE(hand_overs);
SONDE_JUDGE(sleeping);
SONDE_JUDGE(spawn);

/* finding_memory.c */
SONDE_JUDGE(hotspot);
SONDE_JUDGE(leak);
SONDE_JUDGE(fragmentation);

/* finding_io.c */
SONDE_JUDGE(small_writes);
SONDE_JUDGE(small_reads);
SONDE_JUDGE(sync);
SONDE_JUDGE(loading);
SONDE_JUDGE(files);

/* finding_work.c */
SONDE_JUDGE(low_throughput);
SONDE_JUDGE(below_roof);
SONDE_JUDGE(memory_bound);
SONDE_JUDGE(small_blas);

/* finding_devices.c */
SONDE_JUDGE(device_starved);
SONDE_JUDGE(tiny_kernels);
SONDE_JUDGE(device_idle);
SONDE_JUDGE(device_gap);
SONDE_JUDGE(step_sync);

/* finding_device_work.c */
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

/* finding_device_ranks.c */
SONDE_JUDGE(exposed_communication);
SONDE_JUDGE(late_rank);

/* finding_device_staged.c */
SONDE_JUDGE(staged_copies);

/* finding_device_matrix.c */
SONDE_JUDGE(idle_matrix_units);

#endif
