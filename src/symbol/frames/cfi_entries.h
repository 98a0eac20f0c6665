/* cfi_entries.h: the entries of .eh_frame and .debug_frame: which function each describes, and its program. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_ENTRIES_H
#define SONDE_SYMBOL_FRAMES_CFI_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/frames/cfi_cursor.h"
#include "symbol/elf.h"

/* A common information entry (CIE), shared by many functions. */
struct sonde_cfi_common {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	uint8_t pointer_encoding; /* DW_EH_PE_… */
	uint8_t has_augmentation; /* entries have an augmentation block */
	uint8_t is_signal;        /* signal trampoline */
	struct sonde_cfi_cursor program;
};

/* A frame description entry (FDE). */
struct sonde_cfi_entry {
	uint32_t start; /* ELF virtual address − base */
	uint32_t size_b;
	uint32_t common;
	uint32_t program_b;
	const uint8_t *program;
};

/* All entries of a file, sorted by start; programs point into the sections. */
struct sonde_cfi_entries {
	struct sonde_cfi_entry *entries;
	size_t count;
	struct sonde_cfi_common *commons;
	size_t common_count;
	uint64_t base;
	uint8_t *sections[2];
	size_t capacity, common_capacity;
};

/* Reads all entries. Succeeds also for a file without entries; damaged entries are skipped. */
int sonde_cfi_entries_read(struct sonde_cfi_entries *out, const struct sonde_elf *file);
void sonde_cfi_entries_free(struct sonde_cfi_entries *entries);

#endif
