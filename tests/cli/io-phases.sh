# io-phases.sh: which share of the bytes was seen, and what is missing; phases in which files are read, by a known schedule.
# timeout: 120
. "$(dirname "$0")/lib.sh"
need jq
load=$(target io_load)
mkdir d

record() {
	run 0 "$SONDE" record -q --io --force -o a.sonde -- "$@"
}

# 4 times 300 ms of reading, each after and before 200 ms of computing: all of it, and each from one beginning to the next,
# within 5 %. Where the machine's CPUs are taken by others, or the recorder gets none and loses calls, it is tried again.
fits() {
	rows a.sonde io-phases | jq -c '[.[] | select(.duration_ns >= 100e6)]' >phases.json
	awk '{ load += $1; print $1 + $2 } END { print load }' .out >known
	jq -e --slurpfile known known 'length == 4 and ([.[].duration_ns] | add / 1e6 / $known[4] | . > 0.95 and . < 1.05) and
		([range(3) as $i | (.[$i + 1].begin_ns - .[$i].begin_ns) / 1e6 / $known[$i] | . > 0.95 and . < 1.05] | all)' \
		phases.json >/dev/null
}
for ((try = 0; try < 5; try++)); do
	record "$load" d 4
	! fits || break
done
[ $try -lt 5 ] || fail "loads of (ms) $(cat .out): $(jq -c '[.[] | [.begin_ns / 1e6, .duration_ns / 1e6]]' phases.json)"
equal "$(jq '[.[] | .share_in_reads == .share_blocked] | all' phases.json)" true # it has one thread
equal "$(jq -r '[.[].file | endswith("/d/data")] | all' phases.json)" true
has "$(jq -r '.[0].most_in, .[1].most_in' phases.json)" load_by_
holds "$(jq '[.[].read_b] | add' phases.json) > 0.9 * $(rows a.sonde io | jq '[.[] | select(.file | endswith("/d/data")).read_b] | add')" "bytes"
run 0 "$SONDE" report --section io-phases a.sonde
has "$out" "loading: io_load ("

# What a program that computes reads at its start is no phase of loading.
record bash -c 'for i in {1..100000}; do :; done'
run 0 "$SONDE" report --section io-phases a.sonde
lacks "$out" "loading:"

# A loop in Python, as of a training program.
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
for epoch in range(3):
    load("d/data")
    compute()
P
if [ -x /usr/bin/python3 ]; then
	record /usr/bin/python3 train.py
	rows a.sonde io-phases | jq '[.[] | select(.file | endswith("/d/data")).duration_ns] | add / 1e6' >sum
	holds "$(cat sum) > 600 && $(cat sum) < 1200" "900 ms of loading in Python: $(cat sum)" # 0.3 s of a stolen CPU are allowed
fi

# --- which share was seen ----------------------------------------------------------------------------------------------

head -c 8000000 /dev/zero >zeros
seen() { # PROCESS COLUMN
	"$SONDE" report -q --json --section io-seen a.sonde |
		jq -r --arg name "$1" --arg column "$2" '[.sections[0].rows[] | select(.process == $name)[$column]] | first'
}
record sh -c 'cat zeros >copy; exit 0'
run 0 "$SONDE" report --section io a.sonde
has "$out" "that the kernel counted for system calls were seen"
holds "$(seen sh share_seen) >= 0.95" "all of sh and its child was seen"

# What loading takes of many programs that end at once is no call that hooks miss; one of them that reads itself is.
record bash -c 'for i in {1..100}; do /bin/true; done; for i in {1..20}; do ls >list; done'
run 0 "$SONDE" report a.sonde
lacks "$out" "Bytes of system calls"
run 0 "$SONDE" report --section io a.sonde
matches "$out" "^  [0-9.]+ % of the [0-9.]+ MB that the kernel counted"
equal "$(seen bash missing)" "loading of programs"
record bash -c "for i in {1..100}; do /bin/true; done; '$(target io_static)' zeros"
run 0 "$SONDE" report a.sonde
has "$out" "Bytes of system calls"

# A static program is missing, and is named.
record sh -c "'$(target io_static)' zeros; cat zeros >copy"
run 0 "$SONDE" report --section io a.sonde
has "$out" "of 1 process less than 95 %"
run 0 "$SONDE" report a.sonde
has "$out" "Bytes of system calls"
has "$out" "a static program?"

# Files that are mapped, and calls that say why they have no file.
record "$(target io)" odd d
run 0 "$SONDE" report --section io a.sonde
has "$out" "files that were mapped (2 times)"
has "$out" "1 closed without having been used"
has "$out" "1 no descriptor"
equal "$(rows a.sonde io | jq '[.[] | select(.file == "(mapped memory)").other_calls] | add')" 1
equal "$(rows a.sonde wait-kinds | jq '[.[] | select(.kind == "send")] | .[0].amount_b, .[0].calls' | tr '\n' ' ')" "300 1 "
equal "$(rows a.sonde wait-kinds | jq '[.[] | select(.kind == "receive")] | .[0].amount_b' | tr '\n' ' ')" "300 "
equal "$(rows a.sonde io | jq '[.[] | select(.file | endswith("/odd")).written_b] | add')" 5000
