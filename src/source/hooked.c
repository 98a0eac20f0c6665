/* hooked.c: call-frame tables for hooks (hooked.h). */
#include "source/hooked.h"

#include <string.h>

#include "base/clock.h"
#include "symbol/cfi.h"

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
}

int sonde_hooked_table(struct sonde_hooked *hooked, pid_t pid, uint64_t address, struct sonde_link_table *out)
{
	uint64_t now_ns = sonde_clock_now_ns();
	struct sonde_space *space = sonde_spaces_get(hooked->spaces, pid, now_ns);
	if (!space)
		return -1;
	space->reread_ns = 0; /* what is there now, not what was */
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
	return image->known && image->table.count ? sonde_cfi_share(&image->table, image->build_id, image->build_id_b)
						  : -1;
}
