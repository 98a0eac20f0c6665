/* gzip.h: writes a gzip stream to a FILE, in bounded memory. */
#ifndef SONDE_EXPORT_GZIP_H
#define SONDE_EXPORT_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct sonde_gzip;

int sonde_gzip_open(struct sonde_gzip **out, FILE *file);
int sonde_gzip_write(struct sonde_gzip *gzip, const void *data, size_t size_b);
/* Ends the stream and frees its memory; the file stays open. */
int sonde_gzip_close(struct sonde_gzip *gzip);

/* A stream that compresses into `file`. Closing it (fclose() reports errors) leaves `file` open. */
int sonde_gzip_stream(FILE **out, FILE *file);

#endif
