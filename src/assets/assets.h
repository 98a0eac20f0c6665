/* assets.h: the files of the web page, as built by web/ and embedded in the program. They are uncompressed, and nothing
 * needs to be freed. */
#ifndef SONDE_ASSETS_ASSETS_H
#define SONDE_ASSETS_ASSETS_H

#include <stddef.h>

struct sonde_asset {
	const char *path;          /* what a browser asks for: "/", "/app.js", "/app.css" */
	const char *type;          /* Content-Type */
	const unsigned char *data; /* a zero byte follows it */
	size_t size_b;
};

extern const struct sonde_asset sonde_assets[];
extern const size_t sonde_asset_count;

#endif
