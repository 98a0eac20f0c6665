/* contents.h: which sections of a report have something to say about a recording. */
#ifndef SONDE_SERVE_ANSWER_CONTENTS_H
#define SONDE_SERVE_ANSWER_CONTENTS_H

#include "analyze/pass.h"
#include "session/session.h"

/* By what the recording holds, without a pass: a section that is named may still be short, or say why it is; one that
 * is not named has nothing but that sentence. Pages are chosen by it. */
int sonde_contents_has(const struct sonde_session *session, const struct sonde_pass *pass);

/* Whether stacks can be weighed so; that there were such calls or blocks is not looked for. */
int sonde_contents_weighs(const struct sonde_session *session, const struct sonde_weigh_row *row);

#endif
