/* clamp.c: sets references to missing rows to 0 (clamp.h), using the reference type of each field in
 * format/records.def.
 *
 * Reference fields of a table's rows have the same names as those of its record. The row's own id is one of these
 * references; it is always valid.
 */
#include "session/clamp.h"

#include "session/state.h"

static void clamp(uint32_t *id, size_t count)
{
	if (*id > count)
		*id = 0;
}

#define CLAMP_NONE(row, name)
#define CLAMP_RESERVED(row, name)
#define CLAMP_TIME(row, name)
#define CLAMP_STRING(row, name) /* already resolved to text */
#define CLAMP_PROCESS(row, name) clamp(&(row)->name, session->processes.count);
#define CLAMP_THREAD(row, name) clamp(&(row)->name, session->threads.count);
#define CLAMP_MODULE(row, name) clamp(&(row)->name, session->modules.count);
#define CLAMP_SITE(row, name) clamp(&(row)->name, session->sites.count);
#define CLAMP_NODE(row, name) clamp(&(row)->name, session->stacks.nodes.count);
#define CLAMP_HEAP(row, name) clamp(&(row)->name, session->heaps.count);
#define CLAMP_HEAP_SITE(row, name) clamp(&(row)->name, session->heap_sites.count);
#define CLAMP_SERIES(row, name) clamp(&(row)->name, session->series.count);
#define CLAMP_OBJECT(row, name) clamp(&(row)->name, session->objects.count);
#define CLAMP_DEVICE(row, name) clamp(&(row)->name, session->devices.count);
#define CLAMP_QUEUE(row, name) clamp(&(row)->name, session->queues.count);
#define CLAMP_OPERATION(row, name) clamp(&(row)->name, session->operations.count);

#define CLAMP_FIELD(row, at, type, name, dims, reference, ...) CLAMP_##reference(row, name)

void sonde_session_clamp(struct sonde_session *session)
{
#define SONDE_ROWS(name, rows, row_struct, NAME)                           \
	for (size_t i = 0; i < session->rows.count; i++) {                 \
		struct row_struct *row = sonde_rows_at(&session->rows, i); \
		(void)row; /* rows of sources refer to nothing */          \
		SONDE_##NAME##_FIELDS(CLAMP_FIELD, row)                    \
	}
#include "session/tables.def"
}
