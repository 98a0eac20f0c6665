# import.sh: sonde import makes recordings from files of other profilers: sonde's own exports come back with the same
# totals, perf.data has the figures that perf prints, and unreadable parts are reported.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need jq gzip python3
known=$(target zones_known)
shares=$(target shares)

# sums FILE SECTION KEY COLUMNS: a line for each row: its key, and the columns that have to be equal.
sums() {
	rows "$1" "$2" | jq -c --arg key "$3" --arg columns "$4" '.[] | . as $row | [$row[$key], ($columns / " " | .[] | $row[.] | figure)]' |
		sort
}

# Zones through trace events, compressed or not: to the nanosecond.
run 0 "$SONDE" record -q -o zones.sonde -- "$known" 30
run 0 "$SONDE" export -q -f chrome -o zones.json zones.sonde
gzip -k zones.json
"$SONDE" import -q -o probe.sonde zones.json 2>.err || { grep -q yajl .err && skip "this build cannot read JSON"; }
run 0 "$SONDE" import -o again.sonde -- zones.json.gz
matches "$err" "^sonde: again.sonde: imported from trace events.*: .* zones"
for zone in compute inner rest; do
	equal "$(sums again.sonde zones zone "calls total_ns self_ns" | grep "^\[\"$zone\"")" \
		"$(sums zones.sonde zones zone "calls total_ns self_ns" | grep "^\[\"$zone\"")"
done
run 0 "$SONDE" report again.sonde
has "$(head -n 6 .out)" "imported from trace events"
run 4 "$SONDE" import zones.json # zones.sonde is there
has "$err" "zones.sonde exists; choose another name with -o, or overwrite it with --force"
run 0 "$SONDE" import --force -q -o again.sonde zones.json
equal "$err" ""

# Samples through pprof, with all of its time; through folded stacks, with all of its samples.
run 0 "$SONDE" record -q -o cpu.sonde -- "$shares" 60 30 10
run 0 "$SONDE" export -q -f pprof -o cpu.pb.gz cpu.sonde
run 0 "$SONDE" import -o pprof.sonde cpu.pb.gz
equal "$(sums pprof.sonde functions function "self_ns total_ns" | grep -v '^\[null')" \
	"$(sums cpu.sonde functions function "self_ns total_ns" | grep -v '^\[null')"
run 0 "$SONDE" report pprof.sonde
has "$(head -n 6 .out)" "wall time unknown"
run 0 "$SONDE" export -q -f folded -o cpu.folded cpu.sonde
cat cpu.folded | "$SONDE" import -q -o folded.sonde -
equal "$(metric folded.sonde samples.count)" "$(awk '{ sum += $NF } END { print sum }' cpu.folded)"
run 0 "$SONDE" report --section findings folded.sonde # how long it took is in no such file
has "$out" "not checked: the length of the run is unknown"
lacks "$out" "nan"
run 0 "$SONDE" report folded.sonde
has "$(head -n 8 .out)" "1 sample = 1 ms by convention"
run 0 "$SONDE" export -q -f folded -o - folded.sonde
equal "$(wc -l <.out)" "$(wc -l <cpu.folded)"

# Exports state the origin of an imported recording, and what is a convention, if their format has a place for it;
# recordings of our own need no such statement.
origin="imported from folded stacks|imported file: standard input|1 sample = 1 ms by convention: the file has counts, but no times|the timeline is the order of the file's lines: it does not show when anything ran"
run 0 "$SONDE" export -q -f chrome -o folded.json folded.sonde
equal "$(jq -r '.otherData.import_notes | join("|")' folded.json)" "$origin"
equal "$(jq -c '.otherData | [.records_lost, .bytes_not_readable, .chunks_skipped, .not_closed_in_order, has("import_notes")]' zones.json)" \
	"[0,0,0,0,false]"
run 0 "$SONDE" export -q -f speedscope -o folded.speedscope.json folded.sonde
equal "$(jq -r .name folded.speedscope.json)" "folded.sonde (${origin//|/; })"
cat >comments.py <<'PYTHON'
import gzip, sys
data, at, texts, comments = gzip.open(sys.argv[1]).read(), 0, [], []
def varint():
    global at
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value
while at < len(data):
    field = varint()
    value = varint()
    if field & 7 == 2:
        value, at = data[at:at + value], at + value
    if field >> 3 == 6:
        texts.append(value.decode())
    elif field >> 3 == 13:
        comments.append(value)
print("|".join(texts[comment] for comment in comments))
PYTHON
run 0 "$SONDE" export -q -f pprof -o folded.pb.gz folded.sonde
equal "$(python3 comments.py folded.pb.gz)" "$origin"
matches "$(python3 comments.py cpu.pb.gz)" "^[^|]*shares 60 30 10$"
head -c $(($(stat -c %s cpu.sonde) * 2 / 3)) cpu.sonde >cut.sonde
run 0 "$SONDE" export -q -f pprof -o cut.pb.gz cut.sonde
lost=$(python3 comments.py cut.pb.gz | tr '|' '\n' | grep "^the recording is incomplete: it was not closed properly") ||
	fail "the profile does not say that its recording was cut"
run 0 "$SONDE" export -q -f speedscope -o cut.speedscope.json cut.sonde
has "$(jq -r .name cut.speedscope.json)" "($lost)"
run 0 "$SONDE" export -f chrome -o cut.json cut.sonde
has "$err" "sonde export: $lost; sonde report lists the effects"
equal "$(jq .otherData.not_closed_in_order cut.json)" 1

# A file like those of PyTorch's profiler: times since 1970, devices as processes, streams as threads.
python3 - >torch.json <<'PYTHON'
import json
events = [{"ph": "M", "name": "process_name", "pid": 42, "tid": 0, "ts": 0, "args": {"name": "python3"}},
          {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0, "args": {"name": "python3"}},
          {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "GPU 0"}},
          {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 0, "args": {"name": "stream 7"}},
          {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
           "ts": 1700000000000000, "dur": 100000}]
for i in range(100):
    ts = 1700000000000000 + 1000 * i
    events += [{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 42, "tid": 42, "ts": ts, "dur": 300,
                "args": {"External id": i, "Input Dims": [[4, 4], []]}},
               {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 42, "tid": 42, "ts": ts + 10, "dur": 200.125,
                "args": {"External id": i}},
               {"ph": "X", "cat": "kernel", "name": "gemm<float, 4>", "pid": 0, "tid": 7, "ts": ts + 250, "dur": 500,
                "args": {"stream": 7, "correlation": i}},
               {"ph": "s", "id": i, "pid": 42, "tid": 42, "ts": ts, "cat": "ac2g", "name": "ac2g"}]
print(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events, "traceName": "t.json"}))
PYTHON
run 0 "$SONDE" import torch.json
has "$err" "100 flow arrows left out"
equal "$(sums torch.sonde zones zone "calls total_ns self_ns" | tr '\n' ' ')" \
	'["PyTorch Profiler (0)",1,100000000,100000000] ["aten::addmm",100,20012500,20012500] ["aten::linear",100,30000000,9987500] ["gemm<float, 4>",100,50000000,50000000] '
equal "$("$SONDE" query -q -f csv torch.sonde "SELECT name FROM processes ORDER BY name" | tail -n +2 | tr -d '\r' | tr '\n' ' ')" \
	"Spans python3 python3 (GPU 0) "
matches "$("$SONDE" query -q -f csv torch.sonde "SELECT name FROM threads" | tr '\n' ' ')" "stream 7"

# Files that cannot be read: a message that names the cause, exit code 4, and no output file.
printf '' >empty
printf 'just a text\n' >text
head -c 200 cpu.pb.gz >cut.pb.gz
printf '{"traceEvents":[{"ph":"X",]}' >bad.json
while IFS='|' read -r file words; do
	run 4 "$SONDE" import -o none.sonde "$file"
	has "$err" "sonde import: $words"
	[ ! -e none.sonde ] || fail "$file left a recording"
	lacks "$(ls)" "none.sonde."
done <<-FILES
	empty|empty: the file is empty
	text|text has no format that can be imported
	cut.pb.gz|cut.pb.gz: the compressed file is cut off
	bad.json|bad.json: damaged at byte
	zones.sonde|zones.sonde is already a sonde recording
	nowhere|nowhere: No such file
	.|. is a folder
	/dev/zero|/dev/zero is a device, not a file
FILES

# The output gets its name when it is complete: a signal leaves no file, and a file created meanwhile is not replaced.
mkfifo typed
begin() { # an import that waits for what is typed
	"$SONDE" import -o slow.sonde - <typed 2>.err &
	exec 9>typed
	wait_for compgen -G 'slow.sonde.??????' >beside
}
begin
kill -TERM $!
code=0
wait $! || code=$?
equal "$code" 143
exec 9>&-
lacks "$(ls)" "slow.sonde"
begin
echo kept >slow.sonde
echo 'main;work 1' >&9
exec 9>&-
code=0
wait $! || code=$?
equal "$code" 4
has "$(<.err)" "slow.sonde: File exists; choose another name with -o"
equal "$(cat slow.sonde*)" kept
run 2 "$SONDE" import --force -o cpu.folded cpu.folded
has "$err" "cpu.folded is the imported file itself"
run 2 "$SONDE" import --from dtrace text
has "$err" "unknown format 'dtrace': use perf, chrome, pprof or folded"
run 2 "$SONDE" import
run 2 "$SONDE" import -o none.sonde --type wall cpu.pb.gz
has "$err" "has no such values; it has samples (count), cpu (nanoseconds); choose one with --type"

# A command that is given such a file as a recording suggests the import; a Perfetto trace is not a profile.
for command in report "view --no-open"; do
	run 4 "$SONDE" $command cpu.pb.gz
	has "$err" "cpu.pb.gz is not a sonde recording, but a pprof profile; to convert it: sonde import cpu.pb.gz"
done
run 4 "$SONDE" query zones.json 'select 1'
has "$err" "zones.json is not a sonde recording, but trace events (Chrome, Perfetto, PyTorch); to convert it: sonde import zones.json"
run 0 "$SONDE" export -q -f perfetto -o zones.perfetto-trace zones.sonde
run 4 "$SONDE" import -o none.sonde zones.perfetto-trace
has "$err" "zones.perfetto-trace is a native Perfetto trace"
run 4 "$SONDE" report zones.perfetto-trace
has "$err" "zones.perfetto-trace: not a sonde recording"

# perf.data: the figures are those that perf itself prints for the same file, function by function, from a file and from
# a pipe.
command -v perf >/dev/null || skip "perf is not installed: all but perf.data is tested"
need nm readelf
perf record -q -F 999 -g -o perf.data -- "$shares" 60 30 10 >/dev/null 2>.err || skip "perf cannot record here: all but perf.data is tested"
run 0 "$SONDE" import perf.data
equal "$(metric perf.sonde samples.count)" "$(perf script -i perf.data -G -F period 2>/dev/null | wc -l)"
equal "$(metric perf.sonde samples.cpu_time_s | awk '{ printf "%.6f", $1 }')" \
	"$(perf script -i perf.data -G -F period 2>/dev/null | awk '{ sum += $1 } END { printf "%.6f", sum / 1e9 }')"
# A function at one address may have several names (strtoll is also __GI_strtoll), of which perf shows one, and sonde
# another. So each function is identified by the first of all names at its address, from nm on its module and on the
# module's debug symbols.
cat >aliases.py <<'PYTHON'
import os, re, subprocess, sys
first = {}
for path in sys.argv[1:]:
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: (..)(\w+)", notes)
    debug = build_id and f"/usr/lib/debug/.build-id/{build_id[1]}/{build_id[2]}.debug"
    names = {}
    for file, options in ((path, []), (path, ["-D"]), (debug, [])):
        if file and os.path.exists(file):
            for line in subprocess.run(["nm", *options, file], capture_output=True, text=True).stdout.splitlines():
                words = line.split()
                if len(words) == 3 and words[1] in "tTwWiI":
                    names.setdefault(int(words[0], 16), set()).add(words[2].split("@")[0])
    for alike in names.values():
        first.update({(os.path.basename(path), name): min(alike) for name in alike})
sums = {}
for line in sys.stdin:
    count, module, name = line.rstrip("\n").split("\t")
    module, name = os.path.basename(module), name.split("@")[0]  # perf shows versions of symbols
    function = module, first.get((module, name), name)
    sums[function] = sums.get(function, 0) + int(count)
for (module, name), count in sorted(sums.items()):
    print(module, name, count)
PYTHON
perf report -i perf.data --stdio --no-children -g none --sort dso,sym -F sample,dso,sym 2>/dev/null |
	awk '!/^#/ && $3 == "[.]" && $4 !~ /^0x/ { print $1 "\t" $2 "\t" $4 }' >theirs
rows perf.sonde functions | jq -r '.[] | select(.module) | "\(.samples)\t\(.module)\t\(.function)"' >ours
mapfile -t modules < <(perf script -i perf.data -F ip,sym,dso 2>/dev/null | grep -oE '\(/[^()]*\)$' | tr -d '()' | sort -u)
python3 aliases.py "${modules[@]}" <theirs >theirs.known
python3 aliases.py "${modules[@]}" <ours >ours.known
[ -s theirs.known ] || fail "perf has no functions"
while read -r line; do grep -qxF -- "$line" ours.known || fail "perf has '$line'"; done <theirs.known
# Another alias gives the same function; another function or another count does not.
libc=$(ldd "$shares" | awk '$1 ~ /^libc\.so/ { print $3 }')
alias_of() { printf '7\t%s\t%s\n' "$libc" "$1" | python3 aliases.py "$libc"; }
equal "$(alias_of strtoll)" "$(alias_of strtol)"
equal "$(alias_of strtoll@@GLIBC_2.2.5)" "$(alias_of strtoll)"
[ "$(alias_of strtoll)" != "$(alias_of strtoull)" ] || fail "two functions are taken for one"
perf record -q -F 999 -g -o - -- "$shares" 20 20 20 2>/dev/null >pipe.data
cat pipe.data | "$SONDE" import -q -o pipe.sonde -
equal "$(metric pipe.sonde samples.count)" "$(perf script -i pipe.data -G -F period 2>/dev/null | wc -l)"
