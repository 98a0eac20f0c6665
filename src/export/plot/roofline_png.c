/* roofline_png.c: the roofline picture as PNG. */
#include "export/format.h"
#include "export/plot/raster.h"
#include "export/plot/roofline_axes.h"
#include "export/plot/roofline_svg.h"

static int draw(const void *context, FILE *out)
{
	return sonde_roofline_svg(context, out);
}

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	(void)options;
	return sonde_raster_png(draw, report, SONDE_ROOFLINE_WIDTH, sonde_roofline_height(report), out);
}

const struct sonde_format sonde_format_roofline_png = {
    .name = "png",
    .extension = ".png",
    .title = "roofline as a PNG picture",
    .section = "roofline",
    .binary = 1,
    .render = render,
};
