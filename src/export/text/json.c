/* json.c: the report as a versioned JSON document.
 *
 * Figures are in stored units under the columns' keys, never scaled or rounded. An absent cell is null, and the reason
 * is in the row's "absent"; intervals are in the row's "plus_minus". A tree is a flat list of nodes in depth-first
 * order that refer to their parents by index, because readers limit nesting and call trees are deep.
 * tests/validate/report.schema.json is the schema; keys that readers rely on change only with VERSION.
 */

#include "export/format.h"
#include "export/text/json_summary.h"
#include "export/text/preorder.h"
#include "util/json.h"

enum { VERSION = 1 };

static const char *const unit_names[] = {
    [SONDE_UNIT_TEXT] = "text",     [SONDE_UNIT_COUNT] = "count",   [SONDE_UNIT_NS] = "ns",
    [SONDE_UNIT_BYTES] = "bytes",   [SONDE_UNIT_RATIO] = "ratio",   [SONDE_UNIT_HZ] = "hz",
    [SONDE_UNIT_FACTOR] = "factor", [SONDE_UNIT_NUMBER] = "number", [SONDE_UNIT_ADDRESS] = "address",
    [SONDE_UNIT_ID] = "id",         [SONDE_UNIT_BAR] = "ratio",     [SONDE_UNIT_JOULES] = "joules",
    [SONDE_UNIT_GRAMS] = "grams",
};
static const char *const basis_names[] = {
    [SONDE_BASIS_MEASURED] = "measured",
    [SONDE_BASIS_ESTIMATED] = "estimated",
    [SONDE_BASIS_MODELLED] = "modelled",
};

static void put_notes(struct sonde_json *json, const struct sonde_note *note)
{
	sonde_json_put_array(json, "notes");
	for (; note; note = note->next) {
		sonde_json_object(json);
		sonde_json_put_text(json, "text", note->text);
		sonde_json_put_bool(json, "warning", note->warning);
		if (note->action.kind) {
			sonde_json_put_object(json, "action");
			sonde_json_put_text(json, "kind", sonde_action_name(note->action.kind));
			sonde_json_put_text(json, "text", note->action.text);
			sonde_json_end(json);
		}
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static void put_columns(struct sonde_json *json, const struct sonde_table *table)
{
	sonde_json_put_array(json, "columns");
	for (size_t i = 0; i < table->column_count; i++) {
		const struct sonde_column *column = &table->columns[i];
		sonde_json_object(json);
		sonde_json_put_text(json, "key", column->key);
		sonde_json_put_text(json, "title", column->title);
		sonde_json_put_text(json, "unit", unit_names[column->unit]);
		sonde_json_put_text(json, "basis", basis_names[column->basis]);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static void put_cell(struct sonde_json *json, const struct sonde_cell *cell)
{
	switch (cell->kind) {
	case SONDE_CELL_TEXT:
		sonde_json_text(json, cell->text);
		break;
	case SONDE_CELL_INT:
		sonde_json_uint(json, cell->integer);
		break;
	case SONDE_CELL_REAL:
		sonde_json_real(json, cell->real);
		break;
	default:
		sonde_json_null(json);
	}
}

/* Writes the intervals, or the reasons, of a row's cells as an object under `key`; nothing if there are none. */
static void put_aside(struct sonde_json *json, const struct sonde_table *table, const struct sonde_cell *row,
		      const char *key)
{
	int reasons = *key == 'a', open = 0;
	for (size_t i = 0; i < table->column_count; i++) {
		int absent = row[i].kind == SONDE_CELL_ABSENT;
		if (reasons ? !absent : absent || !(row[i].plus_minus > 0))
			continue;
		if (!open++) {
			sonde_json_put_object(json, key);
		}
		sonde_json_key(json, table->columns[i].key);
		if (reasons)
			sonde_json_text(json, row[i].text);
		else
			sonde_json_real(json, row[i].plus_minus);
	}
	if (open)
		sonde_json_end(json);
}

static void put_table(struct sonde_json *json, const struct sonde_table *table)
{
	put_columns(json, table);
	sonde_json_put_uint(json, "omitted", table->omitted);
	sonde_json_put_array(json, "rows");
	for (size_t r = 0; r < table->row_count; r++) {
		const struct sonde_cell *row = table->cells + r * table->column_count;
		sonde_json_object(json);
		for (size_t i = 0; i < table->column_count; i++) {
			sonde_json_key(json, table->columns[i].key);
			put_cell(json, &row[i]);
		}
		put_aside(json, table, row, "plus_minus");
		put_aside(json, table, row, "absent");
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static int put_node(void *context, const struct sonde_preorder *at)
{
	struct sonde_json *json = context;
	sonde_json_object(json);
	sonde_json_put_known(json, "parent", at->depth != 0, at->parent);
	sonde_json_put_text(json, "name", at->node->name);
	sonde_json_put_text(json, "module", at->node->module);
	sonde_json_put_text(json, "file", at->node->file);
	sonde_json_put_uint(json, "line", at->node->line);
	sonde_json_put_uint(json, "self", at->node->self);
	sonde_json_put_uint(json, "total", at->node->total);
	sonde_json_put_uint(json, "count", at->node->count);
	sonde_json_end(json);
	return 0;
}

static int put_tree(struct sonde_json *json, const struct sonde_tree *tree)
{
	sonde_json_put_text(json, "value", tree->value);
	sonde_json_put_text(json, "unit", unit_names[tree->unit]);
	sonde_json_put_array(json, "nodes");
	int rc = sonde_preorder_walk(tree->root, put_node, json);
	sonde_json_end(json);
	return rc;
}

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	(void)options;
	struct sonde_json json;
	sonde_json_init(&json, out, 1);
	sonde_json_object(&json);
	sonde_json_put_text(&json, "schema", "sonde-report");
	sonde_json_put_uint(&json, "version", VERSION);
	sonde_json_put_text(&json, "title", report->title);
	sonde_json_put_text(&json, "recording", report->path);
	for (const struct sonde_fact *fact = report->facts; fact; fact = fact->next) {
		sonde_json_key(&json, fact->key);
		put_cell(&json, &fact->cell);
	}
	put_notes(&json, report->notes);
	int rc = sonde_json_summary(&json, report);
	if (rc)
		return rc;
	sonde_json_put_array(&json, "sections");
	for (const struct sonde_section *section = report->first; section && !rc; section = section->next) {
		int tree = section->kind == SONDE_SECTION_TREE;
		sonde_json_object(&json);
		sonde_json_put_text(&json, "id", section->id);
		sonde_json_put_text(&json, "title", section->title);
		sonde_json_put_text(&json, "kind", tree ? "tree" : "table");
		if (section->recorded)
			sonde_json_put_text(&json, "recorded", section->recorded);
		if (section->missing)
			sonde_json_put_text(&json, "lacks", section->missing);
		put_notes(&json, section->notes);
		if (tree)
			rc = put_tree(&json, &section->tree);
		else
			put_table(&json, &section->table);
		sonde_json_end(&json);
	}
	sonde_json_end(&json);
	sonde_json_end(&json);
	return rc;
}

const struct sonde_format sonde_format_json = {
    .name = "json",
    .extension = ".json",
    .title = "everything in stored units, with a versioned schema",
    .render = render,
};
