/* recording.h: shared by commands that write a recording; their options are the rows of common/recording.def. */
#ifndef SONDE_CLI_COMMON_RECORDING_H
#define SONDE_CLI_COMMON_RECORDING_H

#include <stddef.h>

#include "cli/common/forward.h"
#include "source/record/recorder.h"
#include "source/supervise.h"
#include "source/source.h"

/* A row of common/recording.def: the options of a source, which are defined in the source's own file. */
#define SONDE_RECORDING_OF(source) SONDE_TABLE(&sonde_source_##source.options)

/* The values of these options. It must be the first member of the struct that is the context of the option rows. */
struct sonde_recording {
	struct sonde_record_options options;
	char output[4200]; /* the default file name */
};

#define SONDE_RECORDING_AT(member) offsetof(struct sonde_recording, options.member)
#define SONDE_RECORDING_LEAST_BUFFER_B ((uint64_t)1 << 20)
#define SONDE_RECORDING_LEAST_TIME_NS 1000000u

/* Sets the defaults. */
void sonde_recording_init(struct sonde_recording *recording);

/* Setters for the option rows; `context` is the struct. 0, or -EINVAL with a message. */
int sonde_recording_set_on_full(void *context, const char *value);
int sonde_recording_set_stack(void *context, const char *value);
int sonde_recording_set_carbon_intensity(void *context, const char *value);
int sonde_recording_set_country(void *context, const char *value);

/* Checks for options that exclude each other. Returns an exit code after printing an error, or 0 if there are none.
 * `command`: the command's name. */
int sonde_recording_check(const struct sonde_recording *recording, const char *command);

/* The manual pages of all sources in one text; to be freed. */
char *sonde_recording_manual(void);

/* Sets the default file name: COMMAND.PID.sonde. */
void sonde_recording_name(struct sonde_recording *recording);

/* Prints what was recorded, and what went wrong. */
void sonde_recording_say(const struct sonde_record_options *record, const struct sonde_supervise_result *result,
			 const char *command);

#endif
