/* figures.c: figures and names as reports write them, a JSON array per line: for the page, which must write the
 * same.
 *
 *	["ns",1500,0,"1.50 µs"]         a unit, a value, its ±, and what is written
 *	["name","a\u202eb","a\\u{202e}b"] a name, and what is written
 *	["escaped",0,31]                characters, from the first to the last, of which none stands for itself
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "util/json.h"
#include "util/utf8.h"

static const struct {
	enum sonde_unit unit;
	const char *name;
} units[] = {
    {SONDE_UNIT_COUNT, "count"},   {SONDE_UNIT_NS, "ns"},           {SONDE_UNIT_BYTES, "bytes"},
    {SONDE_UNIT_RATIO, "ratio"},   {SONDE_UNIT_HZ, "hz"},           {SONDE_UNIT_FACTOR, "factor"},
    {SONDE_UNIT_NUMBER, "number"}, {SONDE_UNIT_ADDRESS, "address"}, {SONDE_UNIT_ID, "id"},
    {SONDE_UNIT_JOULES, "joules"}, {SONDE_UNIT_GRAMS, "grams"},
};

static void put_figure(struct sonde_json *json, size_t unit, double value, double plus_minus)
{
	int is_whole = value >= 0 && value < 9e15 && value == (double)(uint64_t)value && !(plus_minus > 0);
	struct sonde_cell cell = is_whole ? sonde_cell_int((uint64_t)value) : sonde_cell_real(value, plus_minus);
	struct sonde_buf text;
	if ((units[unit].unit == SONDE_UNIT_ADDRESS || units[unit].unit == SONDE_UNIT_ID) && !is_whole)
		return; /* such values are written in full everywhere */
	sonde_buf_init(&text, 4096);
	sonde_figure(&text, units[unit].unit, &cell, 0);
	sonde_buf_append(&text, "", 1);
	sonde_json_array(json);
	sonde_json_text(json, units[unit].name);
	sonde_json_real(json, value);
	sonde_json_real(json, plus_minus);
	sonde_json_text(json, (const char *)text.data);
	sonde_json_end(json);
	sonde_buf_fini(&text);
}

/* Writes figures around every value at which the form changes, and a few thousand random ones of all magnitudes. */
static void put_figures(struct sonde_json *json)
{
	static const double around[] = {0,        0.05,  0.5,   1,     9.995, 9.985,  10,     99.95,  99.5,
					100,      999.5, 999.4, 1000,  1024,  999500, 999499, 1e6,    999.5e6,
					1e9,      600e9, 599e9, 36e12, 1e12,  1e15,   123456, 0.0005, 5e-6,
					999.5e-6, 0.125, 2.675, 1.005, 0.25,  1e18,   1e21,   1e25};
	static const double steps[] = {0, 1e-9, -1e-9, 0.5, -0.5, 1, -1};
	uint64_t seed = 7;
	for (size_t unit = 0; unit < sizeof units / sizeof *units; unit++) {
		for (size_t i = 0; i < sizeof around / sizeof *around; i++)
			for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
				put_figure(json, unit, around[i] + steps[k], 0);
				put_figure(json, unit, -around[i] - steps[k], 0);
				put_figure(json, unit, around[i], around[i] / 7 + steps[k]);
			}
		for (int i = 0; i < 3000; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			double value = (double)(seed >> 40);
			for (uint64_t by = seed >> 20 & 31; by > 0; by--)
				value *= seed >> 10 & 1 ? 0.5 : 2.5;
			put_figure(json, unit, value, 0);
			put_figure(json, unit, value, i % 3 ? value / 11 : 0);
		}
	}
}

static void put_name(struct sonde_json *json, const char *name)
{
	struct sonde_buf text;
	sonde_buf_init(&text, 1 << 20);
	sonde_clean(&text, name, 0);
	sonde_buf_append(&text, "", 1);
	sonde_json_array(json);
	sonde_json_text(json, "name");
	sonde_json_text(json, name);
	sonde_json_text(json, (const char *)text.data);
	sonde_json_end(json);
	sonde_buf_fini(&text);
}

static int is_escaped(uint32_t code)
{
	char name[8];
	struct sonde_buf text;
	int length =
	    code < 0x80    ? snprintf(name, sizeof name, "%c", (int)code)
	    : code < 0x800 ? snprintf(name, sizeof name, "%c%c", (int)(0xc0 | code >> 6), (int)(0x80 | (code & 63)))
	    : code < 0x10000
		? snprintf(name, sizeof name, "%c%c%c", (int)(0xe0 | code >> 12), (int)(0x80 | (code >> 6 & 63)),
			   (int)(0x80 | (code & 63)))
		: snprintf(name, sizeof name, "%c%c%c%c", (int)(0xf0 | code >> 18), (int)(0x80 | (code >> 12 & 63)),
			   (int)(0x80 | (code >> 6 & 63)), (int)(0x80 | (code & 63)));
	sonde_buf_init(&text, 64);
	sonde_clean(&text, name, 0);
	int changed = text.len_b != (size_t)length || memcmp(text.data, name, text.len_b) != 0;
	sonde_buf_fini(&text);
	return changed;
}

static void put_escaped(struct sonde_json *json)
{
	uint32_t first = 0, open = 0;
	for (uint32_t code = 1; code <= 0x110000; code++) {
		int is_one = code < 0x110000 && !(code >= 0xd800 && code <= 0xdfff) && is_escaped(code);
		if (is_one && !open)
			first = code;
		if (!is_one && open) {
			sonde_json_array(json);
			sonde_json_text(json, "escaped");
			sonde_json_uint(json, first);
			sonde_json_uint(json, code - 1);
			sonde_json_end(json);
		}
		open = (uint32_t)is_one;
	}
}

int main(void)
{
	struct sonde_json json;
	char *lengthy = calloc(1, 20001);
	sonde_json_init(&json, stdout, 0);
	sonde_json_array(&json);
	put_figures(&json);
	put_name(&json, "plain");
	put_name(&json, "");
	put_name(&json, "a\nb\tc\rd\x1b[31m\x7f");
	put_name(&json, "\xe2\x80\xae"
			"evil\xc2\xad\xe2\x80\x8b");
	put_name(&json, "\xf0\x9f\x98\x80 \xe6\xbc\xa2 e\xcc\x81");
	for (size_t length = 8191; lengthy && length <= 8193; length++) {
		memset(lengthy, 'x', length);
		put_name(&json, lengthy);
	}
	for (size_t i = 0; lengthy && i < 5000; i++)
		memcpy(lengthy + 4 * i, "\xf0\x9f\x98\x80", 4);
	if (lengthy)
		put_name(&json, lengthy);
	put_escaped(&json);
	sonde_json_end(&json);
	free(lengthy);
	return 0;
}
