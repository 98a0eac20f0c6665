# query.sh: SQL over a recording: sums equal those of the report, nothing can be modified, time and memory are
# bounded, and a query that fails prints a reason.
. "$(dirname "$0")/../lib.sh"
need jq
known=$(target zones_known)

# ask SQL: a single value.
ask() {
	"$SONDE" query -q -f csv known.sonde "$1" 2>.err | tail -n +2 | tr -d '\r'
}

run 0 "$SONDE" record -q -o known.sonde -- "$known" 60
"$SONDE" query known.sonde 'SELECT 1' >.out 2>.err || {
	grep -q 'needs SQLite\|need SQLite' .err && skip "SQLite is not installed"
	fail "no answer"
}

# The report's zones, computed from both tables.
rows known.sonde zones | jq -r 'sort_by(.zone)[] | "\(.zone),\(.calls),\(.total_ns),\(.self_ns)"' >expected
ask 'SELECT zone, sum(calls), sum(total_ns), sum(self_ns) FROM zone_stats GROUP BY zone ORDER BY zone' >by_stats
ask 'SELECT zone, count(*), sum(dur_ns), sum(self_ns) FROM zones GROUP BY zone ORDER BY zone' >by_zones
diff expected by_stats || fail "zone_stats differs from the report"
diff expected by_zones || fail "zones differ from the report"
equal "$(ask "SELECT count(*) FROM zones z JOIN threads t ON t.id = z.thread_id WHERE t.name = 'second'")" 90

# A program that allocates, reads, writes and waits: all sums equal those of the report's sections.
run 0 "$SONDE" record -q --heap --io --threads -o load.sonde -- sh -c 'seq 200000 | sort -r | tail -n 1 >last; sleep 0.05'
sum() { # SECTION COLUMN
	rows load.sonde "$1" | jq "[.[].$2] | total"
}
of_load() {
	"$SONDE" query -q -f csv load.sonde "SELECT coalesce(($1), 0) AS x" | tail -n +2 | tr -d '\r'
}
equal "$(of_load "SELECT sum(size_b) FROM waits WHERE kind IN ('read', 'receive')")" "$(sum io read_b)"
equal "$(of_load "SELECT sum(size_b) FROM waits WHERE kind IN ('write', 'send')")" "$(sum io written_b)"
equal "$(of_load "SELECT sum(dur_ns) FROM waits WHERE class != 'held'")" "$(sum waits total_ns)"
equal "$(of_load "SELECT sum(size_b) FROM heap_stats WHERE heap_id IN (SELECT id FROM heaps WHERE kind = 'malloc')")" \
	"$(sum heap allocated_b)"
holds "$(of_load 'SELECT count(*) FROM heap_stats WHERE is_estimated AND temporary IS NULL') > 0"
equal "$(of_load 'SELECT count(*) FROM heap_stats WHERE is_estimated AND temporary IS NOT NULL')" 0
if [ "$(of_load 'SELECT sum(is_sample) FROM samples')" -gt 0 ]; then
	equal "$(of_load 'SELECT sum(self_ns) FROM function_stats')" "$(sum functions self_ns)"
	equal "$(of_load 'SELECT sum(samples) FROM function_stats')" "$(sum functions samples)"
fi
equal "$(of_load "SELECT sum(end_ns - start_ns) FROM states WHERE state = 'running'")" "$(sum threads on_cpu_ns)"
equal "$(of_load 'SELECT sum(end_ns - start_ns) FROM states')" "$(sum threads life_ns)"
equal "$(of_load 'SELECT count(*) FROM processes')" "$(metric load.sonde run.processes)"

# Output formats.
run 0 "$SONDE" query known.sonde "SELECT 1 AS one, NULL AS none, 2.5 AS real, 'a,b' AS text, 1 AS one"
has "$out" "one_2"
run 0 "$SONDE" query -f json known.sonde "SELECT 1 AS one, NULL AS none, 2.5 AS real, 'a\"b' AS text, x'00ff' AS bytes, 2 AS one"
equal "$(jq -c . .out)" '[{"one":1,"none":null,"real":2.5,"text":"a\"b","bytes":"X'"'00ff'"'","one_2":2}]'
run 0 "$SONDE" query -f jsonl known.sonde 'SELECT id FROM threads WHERE id = 1 UNION ALL SELECT 7'
equal "$out" $'{"id":1}\n{"id":7}'
run 0 "$SONDE" query -f json known.sonde 'SELECT 1 WHERE 0'
equal "$(jq -c . .out)" '[]'
run 0 "$SONDE" query -f csv -o out.csv known.sonde "SELECT 'a,\"b' AS x, NULL AS y, '' AS z"
equal "$(tr -d '\r' <out.csv)" $'x,y,z\n"a,""b",,""'
run 2 "$SONDE" query -f csv -o out.csv known.sonde 'SELECT 2'
has "$err" "out.csv exists"
run 0 "$SONDE" query known.sonde "SELECT char(27) || '[31m' AS colour, char(10) AS line"
has "$out" '\x1b[31m'
run 0 "$SONDE" query --tables
fits 80
for table in $(sed -n 's/^\([a-z_]*\),.*/\1/p' .out); do
	run 0 "$SONDE" query -q -f jsonl known.sonde "SELECT * FROM $table LIMIT 3"
done
"$SONDE" query -f csv known.sonde 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c' 2>.err | head -n 3 >.out || true
equal "$(cat .err)" ""

# Invalid queries.
for sql in 'CREATE TABLE x(a)' 'DELETE FROM zones' 'INSERT INTO threads(id) VALUES (1)' "ATTACH 'x.db' AS x" \
	'PRAGMA journal_mode = wal' 'PRAGMA temp_store_directory = "/"' 'CREATE TEMP VIEW v AS SELECT 1' \
	'DROP TABLE zones' 'VACUUM INTO "x.db"' 'BEGIN'; do
	run 2 "$SONDE" query known.sonde "$sql"
	has "$err" "sonde query: "
	equal "$out" ""
done
[ ! -e x.db ] || fail "a file was written"
run 2 "$SONDE" query known.sonde "SELECT load_extension('x')"
run 2 "$SONDE" query known.sonde 'SELEC 1'
has "$err" 'syntax error'
run 2 "$SONDE" query known.sonde 'SELECT none FROM zones'
has "$err" 'no such column: none (sonde query --tables lists all)'
run 2 "$SONDE" query known.sonde 'SELECT 1; SELECT 2'
has "$err" "one statement at a time"
run 0 "$SONDE" query known.sonde 'SELECT 1; -- and nothing else'
run 2 "$SONDE" query known.sonde '-- nothing'
run 2 "$SONDE" query known.sonde
has "$err" "no statement; try"
run 2 "$SONDE" query -f xml known.sonde 'SELECT 1'
has "$err" "unknown format 'xml'"
run 2 "$SONDE" query known.sonde SELECT 1
has "$err" "quotes"

# Bounds: an endless query, too much memory, a huge value, deep nesting, a statement of 1 MB.
endless='WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT'
run 3 timeout 60 "$SONDE" query --timeout 300ms known.sonde "$endless count(*) FROM c"
has "$err" "no answer after 0.3 s"
run 3 timeout 60 "$SONDE" query --memory 8M known.sonde "$endless x FROM c ORDER BY -x"
has "$err" "needs more than 8 MB"
run 2 timeout 60 "$SONDE" query known.sonde 'SELECT hex(zeroblob(1000000000))'
run 2 timeout 60 "$SONDE" query known.sonde "SELECT $(printf '(%.0s' {1..5000})1$(printf ')%.0s' {1..5000})"
run 2 timeout 60 "$SONDE" query known.sonde "SELECT '$(head -c 120000 /dev/zero | tr '\0' a)' + x"

# Unreadable files.
run 4 "$SONDE" query none.sonde 'SELECT 1'
head -c 3000 /dev/urandom >random.sonde
run 4 "$SONDE" query random.sonde 'SELECT 1'
size=$(stat -c %s known.sonde)
head -c $((size / 2)) known.sonde >half.sonde
run 0 "$SONDE" query half.sonde 'SELECT count(*) FROM zones'
cp known.sonde bad.sonde
printf 'XXXXXXXX' | dd of=bad.sonde bs=1 seek=$((size / 3)) conv=notrunc status=none
code=0
"$SONDE" query bad.sonde 'SELECT (SELECT count(*) FROM zones), (SELECT count(*) FROM samples), (SELECT count(*) FROM switches),
	(SELECT count(*) FROM points), (SELECT count(*) FROM counters)' >.out 2>.err || code=$? # either the time or the memory limit stops it
[ "$code" -eq 0 ] || [ "$code" -eq 4 ] || fail "exit code $code for a damaged file"
[ "$code" -eq 4 ] || has "$(cat .err)" "could not be read"
