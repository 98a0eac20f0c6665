/* processor.h: identifies the processor from /proc/cpuinfo, for tables of families and models. */
#ifndef SONDE_SOURCE_RESOURCE_PROCESSOR_H
#define SONDE_SOURCE_RESOURCE_PROCESSOR_H

/* ARM: vendor is "ARM", family the implementer, model the part. */
struct sonde_processor {
	char vendor[32], brand[128]; /* "" = unknown */
	unsigned family, model, count;
	int is_virtual;
};

/* `root` is prepended to /proc ("" = this machine). All processors are assumed to be of the type of the last one in the
 * file. */
void sonde_processor_read(struct sonde_processor *out, const char *root);

#endif
