/* chrome_none.c: rejects trace events, for builds without a JSON parser (chrome.c). */
#include <errno.h>

#include "import/chrome.h"
#include "util/error.h"

static int run(struct sonde_import_job *job)
{
	return sonde_error(ENOSYS,
			   "%s holds trace events in JSON; this build of sonde cannot read them: it lacks yajl "
			   "(libyajl-dev)",
			   sonde_input_name(job->input));
}

const struct sonde_import_format sonde_import_format_chrome = {
    .name = "chrome",
    .title = SONDE_CHROME_TITLE,
    .matches = sonde_chrome_matches,
    .run = run,
};
