# io-phases.sh: the report states which share of all bytes was recorded, and what is missing; phases in which a program
# reads files agree with its known schedule.
# measures: wait times, against the program's own
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
load=$(target io_load)
mkdir d

record() {
	run 0 "$SONDE" record -q --io --force -o a.sonde -- "$@"
}

# covers: .out has a line for each load: its duration in ms, and the time until the next one. 95 % of the loads lie in
# phases, and at most 5 % of the phases lie outside, apart from time taken by a hypervisor and from lost calls.
covers() {
	local stolen lost calls
	stolen=$(metric a.sonde timing.stolen_time_s) lost=$(metric a.sonde lost.count)
	calls=$(rows a.sonde wait-kinds | jq '[.[].calls] | add')
	awk '{ print $1, $2 }' .out | jq -n '[inputs]' >known # pairs, one after the other
	rows a.sonde io-phases | jq -c '[.[] | select(.file | endswith("/d/data"))] | sort_by(.begin_ns)' >phases.json
	holds_in phases.json '
		.[0].begin_ns as $zero | map([.begin_ns - $zero, .begin_ns - $zero + .duration_ns] | map(. / 1e6)) as $phases |
		[range(0; $known[0] | length; 2) as $i | ($known[0][:$i] | total) | [., . + $known[0][$i]]] as $loads |
		($loads | map(.[1] - .[0]) | add) as $all | (1e3 * $stolen + $all * $lost / ($lost + $calls)) as $slack |
		[$loads[] as $load | [$phases[] | ([.[1], $load[1]] | min) - ([.[0], $load[0]] | max) | select(. > 0)] | total] as $in |
		([range($in | length) as $i | $in[$i] >= 0.95 * ($loads[$i][1] - $loads[$i][0]) - $slack] | all) and
		($phases | map(.[1] - .[0]) | add) - ($in | add) <= 0.05 * $all + $slack' --slurpfile known known --argjson stolen "$stolen" --argjson lost "$lost" --argjson calls "$calls"
}

# 4 times 300 ms of reading, with 200 ms of computing before and after each.
record "$load" d 4
covers "loads by calls and by streams"
holds_in phases.json 'length >= 4 and all((.share_in_reads | figure) == .share_blocked)' # it has one thread
has "$(jq -r '.[0].most_in, .[1].most_in' phases.json)" load_by_
holds "$(jq '[.[].read_b] | add' phases.json) > 0.9 * $(rows a.sonde io | jq '[.[] | select(.file | endswith("/d/data")).read_b] | add')" "bytes"
run 0 "$SONDE" report --section io-phases a.sonde
has "$out" "loading: io_load ("

# What a computing program reads at its start is not a loading phase.
record bash -c 'for i in {1..100000}; do :; done'
run 0 "$SONDE" report --section io-phases a.sonde
lacks "$out" "loading:"

# A loop in Python, like that of a training program.
cat >train.py <<'P'
import time
def load(name):
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        with open(name, "rb") as f:
            f.read()
def compute():
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        sum(range(1000))
times = [time.monotonic()]
for epoch in range(3):
    load("d/data")
    times.append(time.monotonic())
    compute()
    times.append(time.monotonic())
for i in range(0, 6, 2):
    print((times[i + 1] - times[i]) * 1e3, (times[i + 2] - times[i + 1]) * 1e3)
P
if [ -x /usr/bin/python3 ]; then
	record /usr/bin/python3 train.py
	covers "loads in Python"
fi

# --- which share was seen ----------------------------------------------------------------------------------------------

head -c 8000000 /dev/zero >zeros
seen() { # PROCESS COLUMN
	"$SONDE" report -q --json --section io-seen a.sonde |
		jq -r --arg name "$1" --arg column "$2" '[.sections[0].rows[] | select(.process == $name)[$column]] | first'
}
record sh -c 'cat zeros >copy; exit 0'
run 0 "$SONDE" report --section io a.sonde
share=$(sed -nE 's/^  ([0-9.]+) % of the .* that the kernel counted .*/\1/p' <<<"$out")
holds "${share:-0} >= 95" "all of sh and its child was seen"
lacks "$out" "(section io-seen)"

# What the dynamic loader reads in many short programs does not count as calls that hooks missed; one of them that
# reads files itself does.
record bash -c 'for i in {1..100}; do /bin/true; done; for i in {1..20}; do ls >list; done'
run 0 "$SONDE" report a.sonde
lacks "$out" "I/O coverage"
run 0 "$SONDE" report --section io a.sonde
matches "$out" "^  [0-9.]+ % of (the )?[0-9.]+ MB (that the kernel counted|of system calls were seen)"
equal "$(seen bash missing)" "program loading"
record bash -c "for i in {1..100}; do /bin/true; done; '$(target io_static)' zeros"
run 0 "$SONDE" report a.sonde
has "$out" "I/O coverage"

# A static program is missing, and named.
record sh -c "'$(target io_static)' zeros; cat zeros >copy"
run 0 "$SONDE" report --section io a.sonde
has "$out" "for 1 process, less than 95 %"
run 0 "$SONDE" report a.sonde
has "$out" "I/O coverage"
has "$out" "a static program?"

# Mapped files, and calls that say why they have no file.
record "$(target io)" odd d
run 0 "$SONDE" report --section io a.sonde
has "$out" "reads of mapped files (2 times)"
has "$out" "1 closed unused"
has "$out" "1 no descriptor"
equal "$(rows a.sonde io | jq '[.[] | select(.file == "(mapped memory)").other_calls] | add')" 1
equal "$(rows a.sonde wait-kinds | jq '[.[] | select(.kind == "send")] | .[0].amount_b, .[0].calls' | tr '\n' ' ')" "300 1 "
equal "$(rows a.sonde wait-kinds | jq '[.[] | select(.kind == "receive")] | .[0].amount_b' | tr '\n' ' ')" "300 "
equal "$(rows a.sonde io | jq '[.[] | select(.file | endswith("/odd")).written_b] | add')" 5000
