# io.sh: calls on files, pipes and sockets: exact counts, bytes and call sites; results are as without sonde.
# measures: wait times, against the program's own
# timeout: 60
. "$(dirname "$0")/../lib.sh"
need jq
io=$(target io)
mkdir d

record() {
	run 0 "$SONDE" record -q --io --force -o a.sonde -- "$@"
}
file() { # NAME COLUMN: of the file whose name ends so
	rows a.sonde io | jq -r --arg name "$1" --arg column "$2" '[.[] | select(.file | endswith($name))[$column]] | total'
}
kind() { # KIND COLUMN
	rows a.sonde wait-kinds | jq -r --arg kind "$1" --arg column "$2" '[.[] | select(.kind == $kind)[$column]] | total'
}

record "$io" files d
equal "$(file /small writes) $(file /small written_b) $(file /small reads)" "1000 10000 0"
equal "$(file /large writes) $(file /large written_b)" "64 4194304"
equal "$(file /large reads) $(file /large read_b)" "129 8388608" # the last one finds the end of the file
equal "$(kind sync calls)" 1
has "$(rows a.sonde io | jq -r '.[] | select(.file | endswith("/small")).most_in')" write_small
has "$(rows a.sonde io | jq -r '.[] | select(.file | endswith("/large")).most_in')" write_large
equal "$(rows a.sonde wait-kinds | jq '.[] | select(.kind == "write").mean_b')" "$(((4194304 + 10000) / 1064))"

# A reader waits for its writer: 20 times 5 ms at least, in each process.
record "$io" pipe d
[ "$(rows a.sonde waits | jq '[.[] | select(.kind == "read" and .function == "read_pipe").total_ns] | add')" -ge 95000000 ] ||
	fail "the reader waits 100 ms"
equal "$(rows a.sonde waits | jq '[.[] | select(.kind == "read" and .function == "read_pipe").calls] | add')" 21

# A descriptor that is closed and opened again is another file.
record "$io" reuse d
for i in 0 1 2 3 4 5 6 7 8 9; do
	equal "$(file "/reuse-$i" writes) $(file "/reuse-$i" written_b)" "$((i + 1)) $(((i + 1) * 100))"
done

record "$io" sockets d
equal "$(kind send calls) $(kind send amount_b) $(kind receive calls) $(kind receive amount_b)" "50 10000 50 10000"
equal "$(rows a.sonde io-seen | jq -c '[([.[].received_b] | add), ([.[].sent_b] | add)]')" "[10000,10000]"

# Many calls at once: none is lost, or the loss is reported.
record "$io" many 300000
told=$(file /dev/zero reads)
lost=$("$SONDE" report -q --json --section summary a.sonde | jq '[.sections[0].rows[] | select(.metric == "lost.count").value] | add')
holds "$told <= 300000 && $told + $lost >= 300000" "calls, and those lost, of 300000"

plain=$("$io" results d)
record "$io" results d
equal "$out" "$plain"

# Real programs: their output, and what they read.
printf '%s\n' 'create table t(x);' 'insert into t select value from generate_series(1, 20000);' 'select sum(x) from t;' >q.sql
if command -v sqlite3 >/dev/null; then
	plain=$(sqlite3 p.db <q.sql)
	run 0 "$SONDE" record -q --io --threads --force -o a.sonde -- sh -c 'sqlite3 s.db <q.sql'
	equal "$out" "$plain"
	[ "$(file /s.db written_b)" -ge "$(stat -c %s s.db)" ] || fail "the database was written"
fi
head -c 3000000 /dev/zero >zeros
record cat zeros
equal "$(wc -c <.out)" 3000000
equal "$(file /zeros read_b)" 3000000
