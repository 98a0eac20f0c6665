/* palette.c: hues around the circle of OKLCH (Björn Ottosson, 2020), where colours of equal lightness look equally
 * light, so that no module stands out by its colour, but only by position and width. */
#include "export/plot/palette.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

uint32_t sonde_palette_hue(const char *module)
{
	if (!*module)
		return SONDE_PALETTE_GREY;
	return (uint32_t)(sonde_hash_bytes(module, strlen(module)) % SONDE_PALETTE_HUES);
}

uint32_t sonde_palette_shade(const char *function)
{
	return (uint32_t)(sonde_hash_bytes(function, strlen(function)) % SONDE_PALETTE_SHADES);
}

/* Converts linear light to an sRGB byte (IEC 61966-2-1). */
static uint32_t srgb_byte(double linear)
{
	double value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
	return value <= 0 ? 0 : value >= 1 ? 255 : (uint32_t)lround(value * 255);
}

uint32_t sonde_palette_fill(uint32_t hue, uint32_t shade, int dark)
{
	double lightness = (dark ? 0.43 : 0.85) + ((double)shade - 1) * (dark ? 0.025 : 0.022);
	double chroma = hue == SONDE_PALETTE_GREY ? 0.004 : dark ? 0.062 : 0.072;
	double angle = ((double)hue * 360 / SONDE_PALETTE_HUES + 25) * 3.14159265358979 / 180;
	double a = chroma * cos(angle), b = chroma * sin(angle);
	double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
	double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
	double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
	uint32_t red = srgb_byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
	uint32_t green = srgb_byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
	uint32_t blue = srgb_byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
	return red << 16 | green << 8 | blue;
}

/* The yellow is darkened, because it is too pale for a line on white. */
uint32_t sonde_palette_tone(size_t number)
{
	static const uint32_t tones[] = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
					 0x56b4e9, 0xd55e00, 0xb0a000, 0x1b1f24};
	return tones[number % (sizeof tones / sizeof *tones)];
}
