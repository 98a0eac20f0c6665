/* manual.c: tables.def as lines for the man page. Names of columns carry their units. */
#include "query/query.h"

#define SONDE_TABLE(name, meaning, ...) "Table " #name ", " meaning "\n"
#define SONDE_TABLE_END
#define SONDE_COLUMN(name, type, key, flags, place, unit, meaning) #name "\t" meaning "\n"
#define SONDE_SUM(name, type, key, place, added, unit, meaning) #name "\t" meaning "\n"
#define SONDE_BIT(name, type, place, mask, meaning) #name "\t" meaning "\n"
#define SONDE_NAME(name, type, flags, place, function, meaning) #name "\t" meaning "\n"
#define SONDE_OTHER(name, type, place, function, meaning) #name "\t" meaning "\n"
#define SONDE_WHEN(name, type, place, bytes, mask, set, unit, meaning) #name "\t" meaning "\n"

const char sonde_query_manual[] =
#include "query/tables.def"
    ;
