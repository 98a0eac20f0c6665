/* processor.h: which processor this is, by /proc/cpuinfo: for tables that know families and models. */
#ifndef SONDE_SOURCE_RESOURCE_PROCESSOR_H
#define SONDE_SOURCE_RESOURCE_PROCESSOR_H

/* ARM: vendor is "ARM", family the implementer, model the part. */
struct sonde_processor {
	char vendor[32], brand[128]; /* "" = not told */
	unsigned family, model, count;
	int is_virtual;
};

/* `root` is put before /proc ("" = this machine). All processors are taken to be of one kind, the last one's. */
void sonde_processor_read(struct sonde_processor *out, const char *root);

#endif
