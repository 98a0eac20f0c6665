/* translate.h: translates records field by field, according to the reference type of each field in format/records.def.
 *
 *     const struct sonde_heap *row = …;
 *     struct sonde_meta_heap record = {.head.type = SONDE_META_HEAP};
 *     SONDE_HEAP_FIELDS(SONDE_TRANSLATE, )
 *
 * `out`, `input`, `row` and `record` are variables of the caller. Rows and records have equal field names. Texts are
 * interned in the order of the fields.
 */
#ifndef SONDE_MERGE_TRANSLATE_H
#define SONDE_MERGE_TRANSLATE_H

#include <string.h>

#include "merge/out.h"

#define SONDE_TRANSLATE(R, at, type, name, dims, reference, ...) SONDE_TRANSLATE_##reference(name)

#define SONDE_TRANSLATE_NONE(name)                                                                            \
	_Static_assert(sizeof record.name == sizeof row->name, "a row's " #name " is as wide as a record's"); \
	memcpy(&record.name, &row->name, sizeof record.name);
#define SONDE_TRANSLATE_RESERVED(name)
#define SONDE_TRANSLATE_TIME(name) record.name = sonde_merge_time(input, row->name);
#define SONDE_TRANSLATE_STRING(name) record.name = sonde_merge_text(out, row->name);
#define SONDE_TRANSLATE_PROCESS(name) record.name = sonde_merge_process(input, row->name);
#define SONDE_TRANSLATE_THREAD(name) record.name = sonde_merge_thread(input, row->name);
#define SONDE_TRANSLATE_SITE(name) record.name = sonde_merge_site(input, row->name);
#define SONDE_TRANSLATE_NODE(name) record.name = sonde_merge_node(input, row->name);
#define SONDE_TRANSLATE_SERIES(name) record.name = input->series[row->name];
#define SONDE_TRANSLATE_HEAP(name) \
	record.name = sonde_merge_id(row->name, sonde_session_heap_count(input->session), input->heaps);
#define SONDE_TRANSLATE_HEAP_SITE(name) record.name = sonde_merge_heap_site(input, row->name);
#define SONDE_TRANSLATE_OBJECT(name) \
	record.name = sonde_merge_id(row->name, sonde_session_object_count(input->session), input->objects);
#define SONDE_TRANSLATE_DEVICE(name) \
	record.name = sonde_merge_id(row->name, sonde_session_device_count(input->session), input->devices);
#define SONDE_TRANSLATE_QUEUE(name) \
	record.name = sonde_merge_id(row->name, sonde_session_queue_count(input->session), input->queues);
#define SONDE_TRANSLATE_OPERATION(name) \
	record.name = sonde_merge_id(row->name, sonde_session_operation_count(input->session), input->operations);

#endif
