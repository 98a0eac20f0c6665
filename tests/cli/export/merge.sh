# merge.sh: sonde merge: each section of the merged report is the sum of the parts' sections, nothing counts twice,
# and no partial file is left.
# timeout: 240
golden=$(cd "$(dirname "$0")/../../golden" && pwd)
. "$(dirname "$0")/../lib.sh"
need jq
shares=$(target shares)
known=$(target zones_known)
leaks=$(target leaks)
waits=$(target waits)
critical=$(target critical)

run 0 "$SONDE" record -q --heap --threads --io -o a.sonde -- "$shares" 5 10 20
run 0 "$SONDE" record -q --heap --threads --io -o b.sonde -- "$known"
run 5 "$SONDE" record -q --heap --threads --io -o c.sonde -- "$leaks" known
run 0 "$SONDE" record -q --heap=full --threads --io -o d.sonde -- "$waits" convoy 20
OMPI_COMM_WORLD_RANK=3 run 0 "$SONDE" record -q --heap --threads --io -o e.sonde -- "$critical" stages 3 3 5 2
run 0 "$SONDE" merge -o all.sonde -- a.sonde b.sonde c.sonde d.sonde e.sonde
has "$err" "all.sonde: 5 recordings"
lacks "$(ls)" "all.sonde."

# sums FILE SECTION COLUMNS: for each column, the sum over a process's rows that have a value. A recording whose waits
# were all sampled from outside has them only in waits-sampled, and one of several may have both: both count.
sums() {
	rows "$1" "$2" >/dev/null
	jq -c --arg columns "$3" --arg name "$2" '[.sections[] | select(.id != "waits-sampled" or $name == "waits") | .rows[]?] |
		[.[] | select((has("pid") | not) or .pid != null)] as $rows |
		[$columns / " " | .[] | . as $c | [$rows[][$c]] | {($c): (map(values) | total)}] | add' "$work/.rows"
}
# Sections whose figures add up, with any number of rows.
while read -r section columns; do
	absent=$(rows all.sonde "$section" | jq -r --arg columns "$columns" '. as $rows |
		[$columns / " " | .[] | select(. as $c | $rows | any(.[$c] | numbers) | not)] | join(" ")')
	equal "$section: absent: $absent" "$section: absent: "
	for part in a b c d e; do sums $part.sonde "$section" "$columns"; done >parts
	equal "$(wc -l <parts)" 5
	equal "$section $(sums all.sonde "$section" "$columns")" \
		"$section $(jq -cs 'reduce .[] as $p ({}; reduce ($p | keys_unsorted[]) as $k (.; .[$k] += $p[$k]))' parts)"
done <<-ROWS
	functions self_ns total_ns samples
	modules self_ns total_ns samples
	latency self_ns latency_ns
	threads sampled_ns cpu_ns life_ns on_cpu_ns runnable_ns blocked_ns unseen_ns voluntary_switches blocked_locks_ns explained_ns
	processes sampled_ns cpu_ns wall_ns samples
	zones calls total_ns self_ns
	heap allocations allocated_b left_b left_blocks peak_b temporary
	heaps allocated_b allocations left_b peak_b unknown
	heap-lines allocated_b left_b
	heap-threads allocated_b left_blocks
	sizes blocks
	waits total_ns calls
	wait-kinds calls total_ns amount_b
	locks waits waited_ns held_ns
	io reads writes read_b written_b total_ns
	resources wall_ns read_all_b written_all_b
	memory samples rss_last_b live_peak_b
	iterations marks items
ROWS

# The summary: totals, and the kernel's CPU time to the µs.
for name in timing.cpu_time_s timing.user_time_s samples.count samples.cpu_time_s zones.count run.processes run.threads \
	lost.count cost.recorder_cpu_time_s memory.heap_allocated_b; do
	sum=$(for part in a b c d e; do rows $part.sonde summary; done | jq -s --arg m "$name" '[.[][] | select(.metric == $m).value | values] |
		if . == [] then error("nobody has it") else total end')
	near "$(metric all.sonde $name)" "$sum" 0.000001
done
resources=$(rows all.sonde resources | jq '.[0].cpu_ns')
near "$resources" "1e9 * $(metric all.sonde timing.cpu_time_s)" 1000

# Wall time runs from the first start to the last end; each process belongs to a part.
run 0 "$SONDE" report all.sonde
has "$out" "merged of 5 recordings (a, b, c, d, rank 3), on one clock"
has "$(rows all.sonde processes | jq -r '.[].process')" "rank 3: "
holds "$(metric all.sonde timing.wall_time_s) > $(metric a.sonde timing.wall_time_s) + $(metric e.sonde timing.wall_time_s)"

# Other commands treat it like any other recording.
count() { # FILE TABLE
	"$SONDE" query -q -f csv "$1" "SELECT count(*) FROM $2" | tail -n 1 | tr -d '\r'
}
if "$SONDE" query -q all.sonde 'SELECT 1' >/dev/null 2>&1; then
	for table in samples zones waits allocations switches threads processes leaks; do
		sum=0
		for part in a b c d e; do sum=$((sum + $(count $part.sonde $table))); done
		equal "$table $(count all.sonde $table)" "$table $sum"
	done
fi
run 0 "$SONDE" export -q -f chrome -o all.json all.sonde
equal "$(jq '[.traceEvents[] | select(.name == "process_name") | .args.name] | map(select(test("^(a|rank 3): "))) | length' all.json)" 2
folded() {
	"$SONDE" export -q -f folded -o - "$1" | awk '{ sum += $NF } END { printf "%.0f", sum }'
}
sum=0
for part in a b c d e; do sum=$((sum + $(folded $part.sonde))); done
holds "$sum > 0"
near "$(folded all.sonde)" "$sum" 5 # each stack is rounded
run 0 "$SONDE" diff a.sonde all.sonde
run 0 "$SONDE" advise all.sonde

# A single recording is unchanged; the order of the files, and merging in steps, make no difference.
same() { # FILE FILE
	for file in "$1" "$2"; do
		"$SONDE" report -q --json -n 100000 --section all $file.sonde |
			jq -S 'del(.recording) | .sections |= map(if .rows then .rows |= map(select(.metric != "file.size_b")) else . end)' >$file.json
	done
	cmp "$1.json" "$2.json" || fail "the reports of $1 and $2 differ"
}
run 0 "$SONDE" merge -q -o one.sonde d.sonde
same d one
run 0 "$SONDE" merge -q -o turned.sonde e.sonde c.sonde a.sonde d.sonde b.sonde
same all turned
run 0 "$SONDE" merge -q -o some.sonde c.sonde a.sonde
run 0 "$SONDE" merge -q -o steps.sonde b.sonde e.sonde some.sonde d.sonde
for section in functions zones heap waits threads; do
	equal "$(rows steps.sonde $section)" "$(rows all.sonde $section)"
done

# Rejected: the same recording twice, and anything that would be incomplete.
run 4 "$SONDE" merge -o no.sonde a.sonde b.sonde a.sonde
has "$err" "a.sonde and a.sonde hold the same recording"
run 4 "$SONDE" merge -o no.sonde all.sonde b.sonde
has "$err" "hold the same recording"
(while :; do :; done) &
busy=$!
"$SONDE" record -q -p $busy -d 1 -o x.sonde 2>/dev/null &
"$SONDE" record -q -p $busy -d 1 -o y.sonde 2>/dev/null || true
wait %2 2>/dev/null || true
"$SONDE" record -q -p $busy -d 300ms -o z.sonde 2>/dev/null || true
kill $busy
if [ -s x.sonde ] && [ -s y.sonde ] && [ -s z.sonde ]; then
	run 4 "$SONDE" merge -o no.sonde x.sonde y.sonde
	has "$err" "both recorded process $busy"
	run 0 "$SONDE" merge -o twice.sonde z.sonde x.sonde
fi
run 4 "$SONDE" merge -o all.sonde a.sonde
has "$err" "all.sonde exists"
run 4 "$SONDE" merge -o no.sonde a.sonde nosuch.sonde
has "$err" "nosuch.sonde"
run 2 "$SONDE" merge
run 2 "$SONDE" merge --align=moon -o no.sonde a.sonde
run 4 "$SONDE" merge --align=zone=nobody -o no.sonde a.sonde b.sonde
has "$err" "no zone nobody"
[ ! -e no.sonde ] || fail "a file was left"
(ulimit -f 4 && trap '' XFSZ && exec "$SONDE" merge -o no.sonde a.sonde b.sonde c.sonde d.sonde e.sonde) 2>full && fail "it fits"
has "$(cat full)" "no.sonde"
equal "$(ls | grep -c no.sonde)" 0

# Recordings of another machine, made long ago: aligned by the wall clock; load averages of both together are left
# out.
run 0 "$SONDE" merge -o far.sonde b.sonde "$golden/series.sonde"
run 0 "$SONDE" report far.sonde
has "$out" "from 2 machines, aligned by the wall clocks"
lacks "$out" $'\nSystem\n'
equal "$(rows far.sonde zones | jq -c 'map([.zone, .calls, .total_ns]) | sort')" \
	"$(rows b.sonde zones | jq -c 'map([.zone, .calls, .total_ns]) | sort')"

# From a damaged recording everything readable is taken, with a note.
head -c $(($(stat -c %s d.sonde) * 2 / 3)) d.sonde >cut.sonde
before=$(cksum <a.sonde)
run 2 "$SONDE" merge --force -o ./a.sonde cut.sonde a.sonde
has "$err" "-o ./a.sonde is one of the inputs; name another file"
equal "$(cksum <a.sonde)" "$before"
run 0 "$SONDE" merge --force -o all.sonde a.sonde cut.sonde
has "$err" "some recordings are incomplete"
run 0 "$SONDE" report all.sonde
has "$out" "incomplete, so the end is missing: cut"
lacks_metric all.sonde lost.count # it would have been written at the end of cut.sonde

# An imported file does not state its losses, so neither does a merged recording that contains it; the losses of the
# other parts are a lower bound.
echo 'main;step 5' >imported.folded
run 0 "$SONDE" import -o imported.sonde imported.folded
run 0 "$SONDE" merge -o mixed.sonde a.sonde imported.sonde
lacks_metric mixed.sonde lost.count
run 0 "$SONDE" report mixed.sonde
has "$out" ", unknown losses"
run 0 "$SONDE" merge --force -o mixed.sonde imported.sonde "$golden/small.sonde"
equal "$(rows mixed.sonde summary | jq -c '.[] | select(.metric == "lost.count") | [.value, .unit]')" '[17,"at least"]'
run 0 "$SONDE" report mixed.sonde
has "$out" "≥ 17 "
