/* test_occupancy_abi.c: theoretical occupancy equals NVIDIA's own calculator (cuda_occupancy.h), limit by limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <cuda_occupancy.h>

#include "analyze/device/occupancy.h"

#define CASES 4000 /* of each compute capability */
#define KIB 1024u

/* The resources of a multiprocessor, from the tables of compute capabilities in the CUDA C++ Programming Guide. */
static const struct chip {
	int major, minor, threads;
	uint32_t shared_b, most_b; /* of a multiprocessor, of a block */
} chips[] = {
    {6, 0, 2048, 64 * KIB, 48 * KIB},    {6, 1, 2048, 96 * KIB, 48 * KIB},   {7, 0, 2048, 96 * KIB, 96 * KIB},
    {7, 5, 1024, 64 * KIB, 64 * KIB},    {8, 0, 2048, 164 * KIB, 163 * KIB}, {8, 6, 1536, 100 * KIB, 99 * KIB},
    {8, 7, 1536, 164 * KIB, 163 * KIB},  {8, 9, 1536, 100 * KIB, 99 * KIB},  {9, 0, 2048, 228 * KIB, 227 * KIB},
    {10, 0, 2048, 228 * KIB, 227 * KIB}, {12, 0, 1536, 100 * KIB, 99 * KIB},
};

static uint32_t next(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % below;
}

static struct cudaOccDeviceProp properties_of(const struct chip *chip)
{
	return (struct cudaOccDeviceProp){.computeMajor = chip->major,
					  .computeMinor = chip->minor,
					  .maxThreadsPerBlock = 1024,
					  .maxThreadsPerMultiprocessor = chip->threads,
					  .regsPerBlock = 65536,
					  .regsPerMultiprocessor = 65536,
					  .warpSize = 32,
					  .sharedMemPerBlock = 48 * KIB,
					  .sharedMemPerMultiprocessor = chip->shared_b,
					  .numSms = 1,
					  .sharedMemPerBlockOptin = chip->most_b,
					  .reservedSharedMemPerBlock = chip->major >= 8 ? KIB : 0};
}

static struct sonde_device device_of(const struct chip *chip)
{
	struct cudaOccDeviceProp properties = properties_of(chip);
	int blocks = 0;
	assert_int_equal(cudaOccMaxBlocksPerMultiprocessor(&blocks, &properties), CUDA_OCC_SUCCESS);
	return (struct sonde_device){.capability = (uint32_t)(chip->major * 10 + chip->minor),
				     .warp = 32,
				     .warps_unit = (uint32_t)chip->threads / 32,
				     .blocks_unit = (uint32_t)blocks,
				     .registers_unit = 65536,
				     .shared_unit_b = chip->shared_b};
}

static struct sonde_operation operation_of(const struct chip *chip, uint32_t *state)
{
	uint32_t most_b = next(state, 2) ? chip->most_b : 12 * KIB, fixed_b = next(state, 2) * next(state, most_b + 1);
	fixed_b = fixed_b > 48 * KIB ? 48 * KIB : fixed_b;
	return (struct sonde_operation){.block = {1 + next(state, 1024), 1, 1},
					.registers = 1 + next(state, next(state, 2) ? 255 : 48),
					.static_shared_b = fixed_b,
					.dynamic_shared_b = next(state, 2) * next(state, most_b - fixed_b + 1)};
}

static struct cudaOccResult theirs_of(const struct chip *chip, const struct sonde_operation *operation)
{
	struct cudaOccDeviceProp properties = properties_of(chip);
	struct cudaOccFuncAttributes attributes = {.maxThreadsPerBlock = 1024,
						   .numRegs = (int)operation->registers,
						   .sharedSizeBytes = operation->static_shared_b,
						   .partitionedGCConfig = PARTITIONED_GC_OFF,
						   .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
						   .maxDynamicSharedSizeBytes = operation->dynamic_shared_b};
	struct cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_SHARED,
					   .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
	struct cudaOccResult result = {0};
	assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
								 (int)operation->block[0], operation->dynamic_shared_b),
			 CUDA_OCC_SUCCESS);
	return result;
}

/* What names one of their limits. */
static int is_limit(unsigned factors, const char *word)
{
	static const struct {
		unsigned factor;
		const char *word;
	} limits[] = {{OCC_LIMIT_WARPS, "warps"},
		      {OCC_LIMIT_REGISTERS, "registers"},
		      {OCC_LIMIT_SHARED_MEMORY, "shared memory"},
		      {OCC_LIMIT_BLOCKS, "blocks"}};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (!strcmp(limits[i].word, word))
			return (factors & limits[i].factor) != 0;
	return 0;
}

static void occupancy_is_what_their_calculator_says(void **state)
{
	uint32_t random = 7;
	size_t compared = 0;
	(void)state;
	for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
		const struct sonde_device device = device_of(&chips[i]);
		for (int n = 0; n < CASES; n++) {
			const struct sonde_operation operation = operation_of(&chips[i], &random);
			const struct cudaOccResult theirs = theirs_of(&chips[i], &operation);
			struct sonde_device_occupancy ours;
			if (theirs.activeBlocksPerMultiprocessor <= 0) /* it cannot be launched */
				continue;
			assert_null(sonde_device_occupancy(&ours, &device, &operation));
			assert_int_equal(ours.blocks, theirs.activeBlocksPerMultiprocessor);
			assert_true(is_limit(theirs.limitingFactors, ours.limited_by));
			compared++;
		}
	}
	assert_true(compared > sizeof chips / sizeof *chips * CASES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(occupancy_is_what_their_calculator_says)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
