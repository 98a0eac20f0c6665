/* palette.h: stable colours by name: the same module has the same hue in every picture, light or dark. */
#ifndef SONDE_EXPORT_PLOT_PALETTE_H
#define SONDE_EXPORT_PLOT_PALETTE_H

#include <stddef.h>
#include <stdint.h>

enum { SONDE_PALETTE_HUES = 36, SONDE_PALETTE_SHADES = 3, SONDE_PALETTE_GREY = SONDE_PALETTE_HUES };

/* A module's hue: 0 … SONDE_PALETTE_HUES − 1, or SONDE_PALETTE_GREY for none (""). */
uint32_t sonde_palette_hue(const char *module);

/* A function's shade of its module's hue. */
uint32_t sonde_palette_shade(const char *function);

/* 0xRRGGBB of a background under text: pale if dark = 0, deep if dark = 1. */
uint32_t sonde_palette_fill(uint32_t hue, uint32_t shade, int dark);

/* 0xRRGGBB of a plot's series on white, by number; safe for colour-blind readers (Okabe and Ito, 2008); repeats after
 * eight. */
uint32_t sonde_palette_tone(size_t number);

#endif
