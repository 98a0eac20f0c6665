/* module.c: SQLite virtual tables over a session: a single module; each table is described by tables.def.
 *
 * Conditions on time, process, thread and site are passed to the walk, which skips chunks that cannot contain rows that
 * meet them. A condition on the row number finds the row directly, which makes joins by id cheap. SQLite still checks
 * every row it gets, so correctness does not depend on this filtering. For GROUP BY and ORDER BY on ids, rows are
 * returned already sorted (order.h), if the copies that sorting needs fit into half of the memory limit. Texts are
 * looked up when SQLite reads the column.
 */
#include "query/module.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "query/order.h"
#include "util/buf.h"
#include "util/error.h"

struct table {
	sqlite3_vtab vtab; /* must be first: SQLite's part */
	struct sonde_query_entry *entry;
};

struct cursor {
	sqlite3_vtab_cursor cursor; /* must be first: SQLite's part */
	struct sonde_query_scan scan;
	int begun, at_end;
};

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* "CREATE TABLE x(start_ns INTEGER, …)" */
static int declare(sqlite3 *db, const struct sonde_query_table *table)
{
	struct sonde_buf text;
	sonde_buf_init(&text, 16 << 10);
	sonde_buf_text(&text, "CREATE TABLE x(");
	for (size_t i = 0; i < table->column_count; i++) {
		const struct sonde_query_column *column = &table->columns[i];
		sonde_buf_printf(&text, "%s\"%s\" %s", i ? ", " : "", column->name, sonde_query_type_name(column));
	}
	sonde_buf_append(&text, ")", 2);
	int code = sonde_buf_error(&text) ? SQLITE_NOMEM : sonde_sqlite.declare_vtab(db, (const char *)text.data);
	sonde_buf_fini(&text);
	return code;
}

static int connect_table(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **out, char **why)
{
	struct sonde_query_entry *entry = context;
	(void)argc;
	(void)argv;
	(void)why;
	int code = declare(db, entry->table);
	if (code != SQLITE_OK)
		return code;
	struct table *table = calloc(1, sizeof *table);
	if (!table)
		return SQLITE_NOMEM;
	table->entry = entry;
	*out = &table->vtab;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *vtab)
{
	free(vtab);
	return SQLITE_OK;
}

/* --- planning ----------------------------------------------------------------------------------------------------- */

/* best_index() passes its plan to filter() in idxStr: two characters per condition, the key and the comparison. */
static char comparison(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return '<';
	default:
		return 0;
	}
}

static double row_count(const struct sonde_query_entry *entry)
{
	const struct sonde_query_table *table = entry->table;
	double count = 1000;
	if (table->count)
		count = (double)table->count(entry->base->session);
	for (int type = 0; type < 32; type++)
		if (table->types & 1u << type)
			count = (double)sonde_session_event_count(entry->base->session, (enum sonde_chunk_type)type);
	return count + 1;
}

/* Returns the estimated factor by which a condition reduces the rows; 0 = it is useless. */
static double helps(enum sonde_query_key key, char op, double rows)
{
	switch (key) {
	case SONDE_QUERY_KEY_ROW:
		return op == '=' ? rows : 0;
	case SONDE_QUERY_KEY_START:
	case SONDE_QUERY_KEY_END:
		return op == '=' ? 100 : 4;
	case SONDE_QUERY_KEY_PROCESS:
	case SONDE_QUERY_KEY_THREAD:
	case SONDE_QUERY_KEY_SITE:
		return op == '=' ? 4 : 0;
	case SONDE_QUERY_NO_KEY:
		break;
	}
	return 0;
}

/* Accepts an ORDER BY on ids. Appends to the conditions in idxStr a colon, the columns that are read, and the sort
 * keys. */
static void take_order(const struct sonde_query_entry *entry, sqlite3_index_info *info, double rows, char *out)
{
	const struct sonde_query_table *table = entry->table;
	uint32_t used = (uint32_t)info->colUsed;
	size_t most_b = (size_t)(entry->base->memory_b ? entry->base->memory_b / 2 : UINT64_MAX / 2);
	if (!info->nOrderBy || info->nOrderBy > SONDE_QUERY_ORDER_MAX || rows >= UINT32_MAX ||
	    rows * (double)sonde_query_order_row_b(table, used) > (double)most_b)
		return;
	for (size_t c = 0; c < table->column_count; c++)
		if (used & 1u << c && table->columns[c].when_mask) /* the bytes that decide about NULL are not copied */
			return;
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].iColumn < 0 ||
		    !sonde_query_order_takes(table, (unsigned)info->aOrderBy[i].iColumn))
			return;
	out += snprintf(out, 11, ":%08x:", used);
	for (int i = 0; i < info->nOrderBy; i++) {
		*out++ = (char)('A' + info->aOrderBy[i].iColumn);
		*out++ = info->aOrderBy[i].desc ? 'd' : 'a';
	}
	*out = '\0';
	info->orderByConsumed = 1;
	info->idxNum = info->nOrderBy;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct sonde_query_entry *entry = ((struct table *)vtab)->entry;
	double rows = row_count(entry), wanted = rows;
	int used = 0;
	char *keys = sonde_sqlite.malloc64((uint64_t)info->nConstraint * 2 + 11 + 2 * SONDE_QUERY_ORDER_MAX);
	if (!keys)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		char op = comparison(constraint->op);
		if (!constraint->usable || !op || constraint->iColumn < 0)
			continue;
		const struct sonde_query_column *column = &entry->table->columns[constraint->iColumn];
		double divides = helps(column->key, op, rows);
		if (divides <= 0)
			continue;
		keys[2 * used] = (char)('0' + column->key);
		keys[2 * used + 1] = op;
		info->aConstraintUsage[i].argvIndex = ++used;
		wanted = wanted / divides < 1 ? 1 : wanted / divides;
	}
	keys[2 * used] = '\0';
	take_order(entry, info, rows, keys + 2 * used);
	info->idxStr = keys;
	info->needToFreeIdxStr = 1;
	info->estimatedCost = wanted;
	info->estimatedRows = (sqlite3_int64)wanted;
	return SQLITE_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
	(void)vtab;
	struct cursor *cursor = calloc(1, sizeof *cursor);
	if (!cursor)
		return SQLITE_NOMEM;
	*out = &cursor->cursor;
	return SQLITE_OK;
}

static void end_scan(struct cursor *cursor)
{
	if (cursor->begun) {
		sonde_query_order_free(&cursor->scan);
		cursor->scan.table->walk->end(&cursor->scan);
	}
	cursor->begun = 0;
}

static int close_cursor(sqlite3_vtab_cursor *at)
{
	struct cursor *cursor = (struct cursor *)at;
	end_scan(cursor);
	free(cursor);
	return SQLITE_OK;
}

/* Stores an error for the caller, which reads it after SQLite has failed. */
static int fail(struct sonde_query_base *base, int error)
{
	base->error = error;
	snprintf(base->why, sizeof base->why, "%s", sonde_error_text());
	return error == -ENOMEM ? SQLITE_NOMEM : error == -ETIMEDOUT ? SQLITE_INTERRUPT : SQLITE_ERROR;
}

/* Advances to the next block with rows. Skips unreadable chunks, which the session counts. */
static int next_block(struct cursor *cursor)
{
	struct sonde_query_scan *scan = &cursor->scan;
	struct sonde_query_base *base = ((struct table *)cursor->cursor.pVtab)->entry->base;
	if (scan->is_copy) {
		cursor->at_end = scan->i >= scan->count;
		return SQLITE_OK;
	}
	do {
		int found = scan->table->walk->next(scan);
		if (sonde_clock_now_ns() >= base->end_ns)
			return SQLITE_INTERRUPT;
		base->missing |= found == -EBADMSG;
		if (found == -EBADMSG)
			scan->i = scan->count = 0;
		else if (found < 0)
			return fail(base, found);
		else if (!found)
			cursor->at_end = 1;
	} while (!cursor->at_end && scan->i >= scan->count);
	return SQLITE_OK;
}

/* Converts a number to integer bounds: a number with a fraction is rounded down and up. Returns 0 if it is not usable
 * as a bound. */
static int bounds_of(sqlite3_value *value, int64_t *least, int64_t *most)
{
	if (sonde_sqlite.value_type(value) == SQLITE_INTEGER) {
		*least = *most = sonde_sqlite.value_int64(value);
		return 1;
	}
	double real = sonde_sqlite.value_double(value);
	if (sonde_sqlite.value_type(value) != SQLITE_FLOAT || !(fabs(real) < 0x1p62))
		return 0;
	*least = (int64_t)floor(real);
	*most = (int64_t)ceil(real);
	return 1;
}

static uint64_t absolute(uint64_t start_ns, int64_t after_ns)
{
	int64_t time_ns;
	if (__builtin_add_overflow((int64_t)start_ns, after_ns, &time_ns))
		return after_ns < 0 ? 1 : INT64_MAX;
	return time_ns < 1 ? 1 : (uint64_t)time_ns;
}

static void want_time(struct sonde_query_scan *scan, char op, int64_t least, int64_t most)
{
	uint64_t from_ns = absolute(scan->start_ns, least), to_ns = absolute(scan->start_ns, most);
	if (op != '<' && from_ns > scan->wanted.from_ns)
		scan->wanted.from_ns = from_ns;
	if (op != '>' && (!scan->wanted.to_ns || to_ns < scan->wanted.to_ns))
		scan->wanted.to_ns = to_ns;
}

static void want(struct sonde_query_scan *scan, enum sonde_query_key key, char op, sqlite3_value *value)
{
	int64_t least, most;
	if (!bounds_of(value, &least, &most))
		return;
	if (key == SONDE_QUERY_KEY_START || key == SONDE_QUERY_KEY_END) {
		want_time(scan, op, least, most);
		return;
	}
	if (least != most || least < 1 || least > UINT32_MAX)
		return;
	if (key == SONDE_QUERY_KEY_ROW)
		scan->row_wanted = (uint64_t)least;
	else if (key == SONDE_QUERY_KEY_PROCESS)
		scan->wanted.process = (uint32_t)least;
	else if (key == SONDE_QUERY_KEY_THREAD)
		scan->wanted.thread = (uint32_t)least;
	else if (key == SONDE_QUERY_KEY_SITE)
		scan->wanted.site = (uint32_t)least;
}

/* Reads and sorts all rows. `text` contains the columns that are read, then the sort keys. */
static int put_in_order(struct cursor *cursor, const char *text, int key_count)
{
	struct sonde_query_base *base = ((struct table *)cursor->cursor.pVtab)->entry->base;
	struct sonde_query_order_key keys[SONDE_QUERY_ORDER_MAX];
	char *end;
	uint32_t used = (uint32_t)strtoul(text + 1, &end, 16);
	for (int i = 0; i < key_count; i++)
		keys[i] = (struct sonde_query_order_key){(unsigned)(end[2 * i + 1] - 'A'), end[2 * i + 2] == 'd'};
	int rc = sonde_query_order(&cursor->scan, used, keys, (size_t)key_count, base->end_ns);
	base->missing |= cursor->scan.missing;
	return rc ? fail(base, rc) : next_block(cursor);
}

static int filter(sqlite3_vtab_cursor *at, int order, const char *keys, int argc, sqlite3_value **argv)
{
	struct cursor *cursor = (struct cursor *)at;
	struct sonde_query_entry *entry = ((struct table *)at->pVtab)->entry;
	end_scan(cursor);
	cursor->at_end = 0;
	cursor->scan = (struct sonde_query_scan){.table = entry->table,
						 .session = entry->base->session,
						 .made = &entry->made,
						 .start_ns = sonde_session_run(entry->base->session)->start_ns};
	for (int i = 0; i < argc; i++)
		want(&cursor->scan, (enum sonde_query_key)(keys[2 * i] - '0'), keys[2 * i + 1], argv[i]);
	entry->made.end_ns = entry->base->end_ns;
	entry->made.most_b = entry->base->memory_b ? entry->base->memory_b : SIZE_MAX;
	cursor->begun = 1;
	int rc = entry->table->walk->begin(&cursor->scan);
	entry->base->missing |= entry->made.missing;
	if (rc)
		return fail(entry->base, rc);
	return order ? put_in_order(cursor, keys + 2 * (size_t)argc, order) : next_block(cursor);
}

static int next(sqlite3_vtab_cursor *at)
{
	struct cursor *cursor = (struct cursor *)at;
	return ++cursor->scan.i < cursor->scan.count ? SQLITE_OK : next_block(cursor);
}

static int is_at_end(sqlite3_vtab_cursor *at)
{
	return ((struct cursor *)at)->at_end;
}

/* Returns the index in the block at which the values of the current row are. */
static size_t row_of(const struct sonde_query_scan *scan)
{
	return scan->order ? scan->order[scan->i] : scan->i;
}

static void give_text(sqlite3_context *context, const char *text, int passing)
{
	if (text && *text)
		sonde_sqlite.result_text(context, text, -1, passing ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static void give_number(sqlite3_context *context, int64_t number)
{
	if (number >= 0)
		sonde_sqlite.result_int64(context, number);
}

/* Passes a value to SQLite; returning without a result means NULL. */
static int column_value(sqlite3_vtab_cursor *at, sqlite3_context *context, int number)
{
	const struct sonde_query_scan *scan = &((struct cursor *)at)->scan;
	const struct sonde_query_column *column = &scan->table->columns[number];
	const struct sonde_query_place *place = &scan->places[number];
	size_t i = row_of(scan);
	if (place->when && ((place->when[i] & column->when_mask) != 0) != column->when_set)
		return SQLITE_OK;
	if (column->type == SONDE_QUERY_TEXT) {
		give_text(context, *(const char *const *)(const void *)(place->first + i * place->step_b),
			  column->flags & SONDE_QUERY_PASSING);
		return SQLITE_OK;
	}
	if (column->type == SONDE_QUERY_REAL) {
		sonde_sqlite.result_double(context, *(const double *)(const void *)(place->first + i * place->step_b));
		return SQLITE_OK;
	}
	uint64_t value = sonde_query_raw(scan, (size_t)number, i);
	if (column->text)
		give_text(context, column->text(scan->session, value), 0);
	else if (column->number)
		give_number(context, column->number(scan->session, value));
	else if (column->mask)
		sonde_sqlite.result_int64(context, (value & column->mask) != 0);
	else if (!value && column->flags & SONDE_QUERY_ZERO_NULL)
		return SQLITE_OK;
	else if (column->type == SONDE_QUERY_TIME)
		sonde_sqlite.result_int64(context, (int64_t)(value - scan->start_ns));
	else if (column->type == SONDE_QUERY_U64 && value > INT64_MAX)
		sonde_sqlite.result_double(context, (double)value);
	else
		sonde_sqlite.result_int64(context,
					  (int64_t)(column->flags & SONDE_QUERY_MINUS_ONE ? value - 1 : value));
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *at, sqlite3_int64 *out)
{
	const struct sonde_query_scan *scan = &((struct cursor *)at)->scan;
	*out = (sqlite3_int64)(scan->before + row_of(scan) + 1);
	return SQLITE_OK;
}

/* xCreate is NULL: the tables exist under their names (eponymous virtual tables), and none can be created. */
static const sqlite3_module module = {
    .xConnect = connect_table,
    .xBestIndex = best_index,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = is_at_end,
    .xColumn = column_value,
    .xRowid = row_id,
};

int sonde_query_module_add(sqlite3 *db, struct sonde_query_base *base)
{
	int code = SQLITE_OK;
	for (size_t i = 0; code == SQLITE_OK && i < sonde_query_table_count; i++) {
		struct sonde_query_entry *entry = &base->entries[i];
		entry->base = base;
		entry->table = &sonde_query_tables[i];
		code = sonde_sqlite.create_module_v2(db, entry->table->name, &module, entry, NULL);
	}
	return code;
}
