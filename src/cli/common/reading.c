/* reading.c: opens the recording that a command reads (common/reading.h). Sessions do not know other formats, so a file
 * that is not a recording is identified here. */
#include "cli/common/reading.h"

#include <errno.h>
#include <stdio.h>

#include "import/import.h"
#include "util/error.h"

int sonde_reading_open(struct sonde_session **out, const char *path, const struct sonde_session_options *options)
{
	int code = sonde_session_open(out, path, options);
	if (code != -EBADMSG)
		return code;
	char why[512];
	snprintf(why, sizeof why, "%s", sonde_error_text()); /* identifying the file may replace the message */
	const char *title = sonde_import_title(path);
	if (!title)
		return sonde_error(EBADMSG, "%s", why);
	return sonde_error(EBADMSG, "%s is not a sonde recording, but %s; to convert it: sonde import %s", path, title,
			   path);
}
