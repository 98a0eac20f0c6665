/* hooked.c: call-frame tables for hooks (target/hooked.h). */
#include "source/target/hooked.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbol/frames/cfi.h"

int sonde_hooked_init(struct sonde_hooked *hooked, struct sonde_recorder *recorder)
{
	*hooked = (struct sonde_hooked){0};
	int result = sonde_images_new(&hooked->images, recorder, NULL, NULL);
	result = result ? result : sonde_spaces_new(&hooked->spaces, hooked->images);
	return result ? result : sonde_unwinder_new(&hooked->unwinder, recorder, hooked->images, hooked->spaces);
}

void sonde_hooked_fini(struct sonde_hooked *hooked)
{
	sonde_unwinder_free(hooked->unwinder);
	sonde_spaces_free(hooked->spaces);
	sonde_images_free(hooked->images);
	while (hooked->shared_count)
		close(hooked->shared[--hooked->shared_count].fd);
}

static int write_all(int fd, const void *bytes, size_t size_b)
{
	return write(fd, bytes, size_b) == (ssize_t)size_b ? 0 : -1;
}

/* Creates sealed memory with the table and its first level; −1 on failure. */
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
static int shared(struct sonde_hooked *hooked, const struct sonde_image *image)
{
	for (uint32_t i = 0; i < hooked->shared_count; i++)
		if (hooked->shared[i].image == image)
			return hooked->shared[i].fd;
	int fd = hooked->shared_count < SONDE_HOOKED_SHARED ? seal(image) : -1;
	if (fd >= 0)
		hooked->shared[hooked->shared_count++] = (struct sonde_hooked_shared){image, fd};
	return fd;
}

int sonde_hooked_table(struct sonde_hooked *hooked, pid_t pid, uint64_t address, struct sonde_link_table *out)
{
	uint64_t now_ns = sonde_clock_now_ns();
	struct sonde_space *space = sonde_spaces_get(hooked->spaces, pid, now_ns);
	if (!space)
		return -1;
	space->reread_ns = 0; /* forces a reread: the mappings may have changed */
	sonde_spaces_refresh(hooked->spaces, space, now_ns);
	const struct sonde_mapping *mapping = sonde_maps_find(space->maps, address);
	if (!mapping)
		return -1;
	struct sonde_image *image = mapping->image;
	sonde_images_open(hooked->images, image, pid, mapping);
	out->status = 0;
	out->start = mapping->start;
	out->end = mapping->end;
	out->bias = address - sonde_image_address(image, mapping, address);
	out->build_id_b = (uint32_t)image->build_id_b;
	memcpy(out->build_id, image->build_id, image->build_id_b);
	if (!image->known || !image->table.count)
		return -1;
	int kept = shared(hooked, image), fd = kept >= 0 ? fcntl(kept, F_DUPFD_CLOEXEC, 0) : -1;
	return fd >= 0 ? fd : sonde_cfi_share(&image->table, image->build_id, image->build_id_b);
}
