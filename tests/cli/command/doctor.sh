# doctor.sh: doctor gives a verdict for every check, says how to fix what is limited, and agrees with the kernel.
# tier: quick
. "$(dirname "$0")/../lib.sh"

run 0 "$SONDE" doctor --json
holds_in .out '.schema == "sonde-report" and (.sections[0].rows | length > 8)'
rows=$(jq -r '.sections[0].rows[] | [.check, .verdict, .found] | @tsv' .out)
[ -z "$(cut -f 2 <<<"$rows" | grep -v -x -e green -e yellow)" ] || fail "a verdict is neither green nor yellow"
for check in "perf events" "kernel frames" "perf buffers" attaching "hardware counters" NUMA clock cache debuginfod; do
	matches "$rows" "^$check"
done
# The overhead is shown next to each source, and nowhere else.
equal "$(jq '[.sections[0].rows[] | select(.cost)] | length' .out)" "$(jq '[.sections[0].rows[] | select(.check | IN("cpu", "zones", "blas", "nvtx", "gpu", "nvml", "flop", "heap", "threads", "resources", "energy", "memory", "waits", "blocked"))] | length' .out)"
matches "$(jq -r '.sections[0].rows[] | select(.check == "cpu") | .cost' .out)" "1000 .*%.* of .*CPU time"
if [ -r /proc/sys/kernel/perf_event_paranoid ]; then
	has "$rows" "perf_event_paranoid is $(cat /proc/sys/kernel/perf_event_paranoid)"
fi
# FLOP from hardware counters: tried, or the reason why there are none.
flop=$(jq -r '.sections[0].rows[] | select(.check == "flop") | .verdict + " " + .found' .out)
if [ -d /sys/bus/event_source/devices/cpu ]; then
	matches "$flop" "^green |not known|not believed|may not be read|cannot be opened"
else
	matches "$flop" "^yellow .*(shows no counters here|two kinds)"
fi

run 0 "$SONDE" doctor
cp .out plain
matches "$out" '^(green|yellow) +perf events'
equal "$(grep -A 1 -E '^[a-z]+ +(cpu|zones|blas|nvtx|gpu|nvml|flop|heap|threads|resources|energy|memory|waits|blocked) ' plain | grep -c '^ *cost: ')" "$(grep -c '^ *cost: ' plain)"
grep -q $'\033' plain && fail "colours in a file"
run 0 "$SONDE" doctor -q
equal "$out" ""
# COLUMNS limits the width, except for longer words; if it is not set, lines are not wrapped.
run 0 env COLUMNS=80 LC_ALL=C.UTF-8 "$SONDE" doctor
equal "$(awk 'length > 80 && !/[^ ]{50}/' .out)" ""
equal "$(tr -s ' \n' ' ' <.out)" "$(tr -s ' \n' ' ' <plain)"

# Settings that are missing are noticed, and shown with their fix.
run 0 env DEBUGINFOD_URLS=http://localhost:1 "$SONDE" doctor
matches "$out" '^green +debuginfod .*http://localhost:1'
run 0 env -u DEBUGINFOD_URLS "$SONDE" doctor
matches "$out" '^yellow +debuginfod'
has "$out" "fix: export DEBUGINFOD_URLS="
foreign=/
[ "$(id -u)" -eq 0 ] && foreign=$work/foreign && mkdir foreign && chown 65534 foreign
run 0 env XDG_CACHE_HOME="$foreign" "$SONDE" doctor
matches "$out" '^yellow +cache '
if [ "$(id -u)" -eq 0 ]; then
	mkdir closed
	chmod 755 "$work" closed
	run 0 as_user env -C "$work/closed" "$SONDE" doctor
	matches "$out" '^yellow +directory .*Permission denied'
fi

# As in every command: the output goes to the file of -o, and never over an existing one.
run 0 "$SONDE" doctor -o out.json -f json
jq -e . out.json >/dev/null || fail "no JSON in out.json"
run 4 "$SONDE" doctor -o out.json -f json
has "$err" "out.json exists"
run 0 "$SONDE" doctor --force -o out.json -f csv
matches "$(cat out.json)" '^check,verdict,found,fix,cost'
run 2 "$SONDE" doctor -f jsn
run 2 "$SONDE" doctor file.sonde
has "$err" "file.sonde"
