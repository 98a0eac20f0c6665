/* raster.c: pictures as pixels, rendered by librsvg and cairo, which are loaded on demand.
 *
 * Only the few functions below are used; the types that they need are declared here, so that a build does not need the
 * headers of these libraries. A picture is generated once, as SVG, and looks the same in both forms.
 */
#include "export/plot/raster.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

#define RSVG "librsvg-2.so.2"
#define CAIRO "libcairo.so.2"
#define WRITE_FAILED 11 /* CAIRO_STATUS_WRITE_ERROR */

struct rectangle {
	double x, y, width, height;
};

struct sonde_raster {
	char *svg;
	size_t svg_b;
	int width, height;
};

typedef int cairo_write(void *closure, const unsigned char *data, unsigned size_b);

#define FUNCTIONS(X)                                                                                         \
	X(rsvg, void *, rsvg_handle_new_from_data, (const unsigned char *data, size_t size_b, void **error)) \
	X(rsvg, int, rsvg_handle_render_document,                                                            \
	  (void *handle, void *cairo, const struct rectangle *viewport, void **error))                       \
	X(rsvg, void, g_object_unref, (void *object))                                                        \
	X(cairo, void *, cairo_image_surface_create, (int format, int width, int height))                    \
	X(cairo, void *, cairo_create, (void *surface))                                                      \
	X(cairo, int, cairo_surface_write_to_png_stream, (void *surface, cairo_write *write, void *closure)) \
	X(cairo, int, cairo_status, (void *cairo))                                                           \
	X(cairo, void, cairo_destroy, (void *cairo))                                                         \
	X(cairo, void, cairo_surface_destroy, (void *surface))

struct library {
#define X(library, result, name, arguments) result(*name) arguments;
	FUNCTIONS(X)
#undef X
};

/* The libraries stay loaded: their threads and tables cannot be unloaded. */
static int load(struct library *out)
{
	static const char missing[] = "a PNG needs %s (Debian's librsvg2-2), which %s; -f svg needs no library";
	void *rsvg = dlopen(RSVG, RTLD_NOW | RTLD_LOCAL), *cairo = dlopen(CAIRO, RTLD_NOW | RTLD_LOCAL);
	if (!rsvg || !cairo)
		return sonde_error(ENOSYS, missing, rsvg ? CAIRO : RSVG, "is not installed");
#define X(library, result, name, arguments)                       \
	out->name = (__typeof__(out->name))dlsym(library, #name); \
	if (!out->name)                                           \
		return sonde_error(ENOSYS, missing, #name, "is too old");
	FUNCTIONS(X)
#undef X
	return 0;
}

static int write_part(void *closure, const unsigned char *data, unsigned size_b)
{
	return fwrite(data, 1, size_b, closure) == size_b ? 0 : WRITE_FAILED;
}

static int draw(const struct library *library, const struct sonde_raster *picture, FILE *out)
{
	const struct rectangle whole = {0, 0, SONDE_RASTER_SCALE * picture->width,
					SONDE_RASTER_SCALE * picture->height};
	void *surface = library->cairo_image_surface_create(0, (int)whole.width, (int)whole.height);
	void *cairo = library->cairo_create(surface);
	void *handle = library->rsvg_handle_new_from_data((const unsigned char *)picture->svg, picture->svg_b, NULL);
	int drawn = handle && !library->cairo_status(cairo) &&
		    library->rsvg_handle_render_document(handle, cairo, &whole, NULL) && !library->cairo_status(cairo);
	int status = drawn ? library->cairo_surface_write_to_png_stream(surface, write_part, out) : 0;
	if (handle)
		library->g_object_unref(handle);
	library->cairo_destroy(cairo);
	library->cairo_surface_destroy(surface);
	if (!drawn)
		return sonde_error(EIO, RSVG " could not draw the picture; -f svg needs no library");
	if (status && ferror(out)) /* the caller reports the cause and the file's name when it closes the file */
		return 0;
	return status ? sonde_error(EIO, "the picture could not be written") : 0;
}

int sonde_raster_png(sonde_raster_draw *draw_svg, const void *context, int width, int height, FILE *out)
{
	struct library library = {0};
	struct sonde_raster picture = {.width = width, .height = height};
	int rc = load(&library);
	FILE *memory = rc ? NULL : open_memstream(&picture.svg, &picture.svg_b);
	if (!rc && !memory)
		return sonde_error(ENOMEM, "out of memory for a picture");
	rc = rc ? rc : draw_svg(context, memory);
	if (memory && fclose(memory) && !rc)
		rc = sonde_error(ENOMEM, "out of memory for a picture");
	rc = rc ? rc : draw(&library, &picture, out);
	free(picture.svg);
	return rc;
}
