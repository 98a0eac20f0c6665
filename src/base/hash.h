/* hash.h: a 64-bit mixer and a byte hash for in-memory tables. File checksums use xxhash instead. */
#ifndef SONDE_BASE_HASH_H
#define SONDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SplitMix64's finaliser (Steele, Lea, Flood 2014): every input bit affects every output bit. */
static inline uint64_t sonde_hash_mix(uint64_t value)
{
	value ^= value >> 30;
	value *= 0xbf58476d1ce4e5b9u;
	value ^= value >> 27;
	value *= 0x94d049bb133111ebu;
	return value ^ (value >> 31);
}

static inline uint64_t sonde_hash_pair(uint64_t a, uint64_t b)
{
	return sonde_hash_mix(a ^ sonde_hash_mix(b + 0x9e3779b97f4a7c15u));
}

/* FNV-1a followed by the mixer. */
static inline uint64_t sonde_hash_bytes(const void *data, size_t size_b)
{
	const unsigned char *bytes = data;
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < size_b; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return sonde_hash_mix(hash);
}

#endif
