# zones.sh: zones of programs that use the C API, recorded together with samples: counts and durations equal the
# program's own; threads, forks, execs and kills lose nothing that was published.
# measures: times of zones
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq python3
known=$(target zones_known)
zones=$SONDE_BUILD/tests/unit/zone_target
[ -x "$zones" ] || skip "tests/unit/zone_target is not built"

# zone FILE NAME COLUMN
zone() {
	rows "$1" zones | jq -r --arg z "$2" --arg c "$3" '[.[] | select(.zone == $z)[$c]] | total'
}

# Known counts, and durations as the program measured them itself (it reads its clock outside the zones).
quietly known.sonde "$SONDE" record -q -o known.sonde -- "$known" 60
cp .out said
for column in compute:2 inner:3 rest:4; do
	own=$(awk -v c="${column#*:}" '{ sum += $c } END { print sum }' said)
	equal "$(zone known.sonde "${column%:*}" calls)" 90
	near "$(zone known.sonde "${column%:*}" total_ns)" "$own" "(0.01 * $own + 90 * 2000)"
done
near "$(zone known.sonde compute self_ns)" "$(zone known.sonde compute total_ns) - $(zone known.sonde inner total_ns)" 1000
holds "$(zone known.sonde rest min_ns) >= 2000000"
holds "$(zone known.sonde rest p50_ns) <= $(zone known.sonde rest p99_ns)"
equal "$(rows known.sonde counters | jq -r '.[] | select(.name == "rounds").value')" 90
run 0 "$SONDE" report --json --section zones --thread "$(rows known.sonde threads | jq '.[] | select(.thread == "second").tid')" known.sonde
equal "$(jq '.sections[0].rows[] | select(.zone == "compute").calls' .out)" 30

# Grouped by name, sorted and limited as requested. Whether compute or rest is longer by the program's own clock
# depends on the machine's speed.
first() { awk -v self="$1" '{ c += $2 - self * $3; r += $4 } END { print (c > r ? "compute rest" : "rest compute") }' said; }
for order in "total $(first 0)" "self $(first 1)" "name compute inner"; do
	run 0 "$SONDE" report --json --section zones --sort "${order%% *}" -n 2 known.sonde
	equal "$(jq -r '[.sections[0].rows[].zone] | join(" ")' .out)" "${order#* }"
done
equal "$(jq '.sections[0].omitted' .out)" 1

# Threads that use a counter for the first time at the same moment share one id.
for _ in 1 2 3 4 5; do
	run 0 "$SONDE" record -q -f -o first.sonde -- "$SONDE_BUILD/tests/targets/first_counts"
	run 0 "$SONDE" report --json --section counters -n 100 first.sonde
	equal "$(jq -c '[.sections[0].rows[] | select(.name | startswith("count ")).value] | [length, min, max]' .out)" '[64,12,12]'
done
if "$SONDE" doctor -f json | jq -e '[.sections[].rows[] | select(.check == "perf events" and .verdict == "green")] | length == 1' >.doctor; then
	near "$(share known.sonde total_share compute)" 98 5 # the samples of the same run
	equal "$(rows known.sonde threads | jq -r '[.[].thread] | sort | join(" ")')" "first second"
fi

# Each process of a fork counts for itself, also with running threads and after an exec.
run 0 "$SONDE" record -q -o fork.sonde -- "$zones" fork
equal "$(zone fork.sonde outer calls)" 40
equal "$(zone fork.sonde inner calls)" 80
equal "$(zone fork.sonde 'around fork' calls)" 3
equal "$(metric fork.sonde run.processes)" 4
run 0 "$SONDE" record -q -o exec.sonde -- "$zones" exec "$zones"
equal "$(zone exec.sonde outer calls)" 7

# Short-lived threads.
run 0 "$SONDE" record -q -o churn.sonde -- "$zones" churn 2000
equal "$(zone churn.sonde short calls)" 2000

# A large buffer is for many processes: none may assume that it has all of it.
run 0 "$SONDE" record -f -o true.sonde --buffer 1G -- true
has "$err" "gives one process at most 256 MB"
run 0 "$SONDE" record -f -o true.sonde --buffer 256M -- true
lacks "$err" "at most"

# Every loss is counted: zones and half the lost events add up to the total.
code=0
"$SONDE" record -q --fail-on-loss -o flood.sonde -- "$zones" flood 3000000 >.out 2>.err || code=$?
lost=$(metric flood.sonde lost.count)
equal $code "$([ "$lost" -gt 0 ] && echo 125 || echo 0)"
[ "$lost" -eq 0 ] || matches "$(cat .err)" "^sonde record: --fail-on-loss: $lost events were lost, first zones: "
echo "flood: $(zone flood.sonde flood calls) of 3000000 zones, $lost events lost"
near "$(zone flood.sonde flood calls) + $lost / 2" 3000000 1

# Killed at any time, a hundred times: every zone that the program had published is there, and at most the open one in
# addition.
cat >killed.py <<'P'
import json, mmap, os, random, signal, struct, subprocess, sys, time
sonde, target, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(11)
for round in range(rounds):
    fd = os.memfd_create("published", 0)
    os.ftruncate(fd, 4096)
    counter = mmap.mmap(fd, 4096)
    recorder = subprocess.Popen([sonde, "record", "-q", "--force", "--no-symbols", "-o", "k.sonde", "--",
                                 target, "killed", str(fd)], pass_fds=[fd])
    while not struct.unpack_from("Q", counter)[0] and recorder.poll() is None:
        time.sleep(0.0005)
    time.sleep(random.random() * 0.01)
    children = open(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    if recorder.wait() != -signal.SIGKILL:
        sys.exit(f"round {round}: ended with {recorder.returncode}")
    published = struct.unpack_from("Q", counter)[0]
    report = json.loads(subprocess.run([sonde, "report", "--json", "--section", "zones,summary", "k.sonde"],
                                       check=True, capture_output=True).stdout)
    rows = {section["id"]: section["rows"] for section in report["sections"]}
    lost = next(row["value"] for row in rows["summary"] if row["metric"] == "lost.count")
    # An open zone ends with the recording, and counts as well.
    calls = sum(row["calls"] for row in rows["zones"] if row["zone"] == "killed")
    if not (published - 1 <= 2 * calls + lost <= published + 3):
        sys.exit(f"round {round}: {published} events published, {calls} zones and {lost} lost events recorded")
    counter.close()
    os.close(fd)
P
python3 killed.py "$SONDE" "$zones" "${ROUNDS:-100}" || fail "zones of killed programs"

# If the recorder is killed, a program that waits for room in the buffer goes on, and does not wait again for each event.
"$SONDE" record -q --on-full block --buffer 1M -o gone.sonde -- \
	sh -c '"$0" flood 20000000 & echo $! >flood; wait $!; echo $? >code' "$zones" &
recorder=$!
wait_for test -s flood -a -s gone.sonde
kill -STOP $recorder
sleep 0.3 # until the buffer is full
kill -KILL $recorder
wait_for test -s code
equal "$(cat code)" 0
