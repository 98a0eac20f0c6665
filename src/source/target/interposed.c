/* interposed.c: call-frame tables for hooks (target/interposed.h). */
#include "source/target/interposed.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbol/frames/cfi.h"

int sonde_interposed_init(struct sonde_interposed *interposed, struct sonde_recorder *recorder)
{
	*interposed = (struct sonde_interposed){0};
	int result = sonde_images_new(&interposed->images, recorder, NULL, NULL);
	result = result ? result : sonde_spaces_new(&interposed->spaces, interposed->images);
	return result ? result
		      : sonde_unwinder_new(&interposed->unwinder, recorder, interposed->images, interposed->spaces);
}

void sonde_interposed_fini(struct sonde_interposed *interposed)
{
	sonde_unwinder_free(interposed->unwinder);
	sonde_spaces_free(interposed->spaces);
	sonde_images_free(interposed->images);
	while (interposed->shared_count)
		close(interposed->shared[--interposed->shared_count].fd);
}

static int write_all(int fd, const void *bytes, size_t size_b)
{
	return write(fd, bytes, size_b) == (ssize_t)size_b ? 0 : -1;
}

/* Creates sealed memory that contains the table and its first-level index; −1 on failure. */
static int seal(const struct sonde_image *image)
{
	const struct sonde_unwind_table *table = &image->table;
	struct sonde_unwind_file head = {.magic = SONDE_UNWIND_FILE_MAGIC,
					 .version = SONDE_UNWIND_FILE_SEALED,
					 .base = table->base,
					 .count = table->count,
					 .expressions_b = table->expressions_b,
					 .build_id_b = (uint8_t)image->build_id_b};
	memcpy(head.build_id, image->build_id, image->build_id_b);
	int fd = table->pages ? memfd_create("sonde-unwind", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
	if (fd < 0)
		return -1;
	if (!write_all(fd, &head, sizeof head) &&
	    !write_all(fd, table->rows, table->count * sizeof *table->rows + table->expressions_b) &&
	    !write_all(fd, table->pages, table->page_count * sizeof *table->pages) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -1;
}

/* The cached descriptor of the table, created if new; −1 = not cached. */
static int shared(struct sonde_interposed *interposed, const struct sonde_image *image)
{
	for (uint32_t i = 0; i < interposed->shared_count; i++)
		if (interposed->shared[i].image == image)
			return interposed->shared[i].fd;
	int fd = interposed->shared_count < SONDE_INTERPOSED_SHARED ? seal(image) : -1;
	if (fd >= 0)
		interposed->shared[interposed->shared_count++] = (struct sonde_interposed_shared){image, fd};
	return fd;
}

int sonde_interposed_table(struct sonde_interposed *interposed, pid_t pid, uint64_t address,
			   struct sonde_link_table *out)
{
	uint64_t now_ns = sonde_clock_now_ns();
	struct sonde_space *space = sonde_spaces_get(interposed->spaces, pid, now_ns);
	if (!space)
		return -1;
	space->reread_ns = 0; /* forces a reread: the mappings may have changed */
	sonde_spaces_refresh(interposed->spaces, space, now_ns);
	const struct sonde_mapping *mapping = sonde_maps_find(space->maps, address);
	if (!mapping)
		return -1;
	struct sonde_image *image = mapping->image;
	sonde_images_open(interposed->images, image, pid, mapping);
	out->status = 0;
	out->start = mapping->start;
	out->end = mapping->end;
	out->bias = address - sonde_image_address(image, mapping, address);
	out->build_id_b = (uint32_t)image->build_id_b;
	memcpy(out->build_id, image->build_id, image->build_id_b);
	if (!image->known || !image->table.count)
		return -1;
	int kept = shared(interposed, image), fd = kept >= 0 ? fcntl(kept, F_DUPFD_CLOEXEC, 0) : -1;
	return fd >= 0 ? fd : sonde_cfi_share(&image->table, image->build_id, image->build_id_b);
}
