# try-zones.sh: sonde try --zones saves the time in each zone before and after a change, and compares them.
# measures: how long runs take
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
zones=$(target zones_known)
mkdir .git
run 0 "$SONDE" try baseline -r 3 -w 0 --zones=14 loop -- "$zones" 20
run 0 "$SONDE" try run -r 3 -w 0 --zones=14 loop 'half the rounds' -- "$zones" 10
has "$(jq -c 'select(.kind == "attempt") | .zones | [.runs, .has_baseline, (.zones | length)]' .sonde-try/loop.jsonl)" "[14,true,3]"
run 0 "$SONDE" try report --json loop
row() {
	jq ".sections[] | select(.id == \"try-zones\").rows[] | select(.zone == \"$1\").$2" .out
}
# 20 iterations, and 10 of a second thread; half of both afterwards. Zones that sleep are more precise than zones that
# compute if other programs use the CPU.
for zone in compute inner rest; do
	equal "$(row $zone calls_before)" 30
	equal "$(row $zone calls_after)" 15
	holds "$(row $zone improvement) > 0.1 && $(row $zone improvement) < 0.9" "$zone: $(row $zone improvement)"
done
# Verdicts are tested on synthetic figures (test_try_zones.c): here other load may disturb them.
holds "$(row rest improvement) > 0.4 && $(row rest improvement) < 0.6" "$(row rest improvement)"
lacks "$(row rest verdict)" "regressed"
# 30 times 2 ms of sleep.
holds "$(row rest before_ns) >= 60e6 && $(row rest after_ns) >= 30e6"
# Against a baseline made at another time; a command without zones; a number that is invalid.
script() {
	printf '#!/bin/sh\nexec %s %s\n' "$zones" "$1" >app
	chmod +x app
}
script 20
run 0 "$SONDE" try baseline -r 3 -w 0 --zones=8 built -- ./app
script 5
run 0 "$SONDE" try run -r 3 -w 0 --zones=8 built 'a quarter' -- ./app
has "$(jq -c 'select(.kind == "attempt") | .zones.has_baseline' .sonde-try/built.jsonl)" "false"
run 0 "$SONDE" try report --json built
lacks "$(row rest verdict)" "regressed"
holds "$(row rest improvement) > 0.5 && $(row rest improvement) < 1" "$(row rest improvement)"
run 0 "$SONDE" try baseline -r 2 -w 0 --zones=2 none -- true
has "$err" "the command has none"
run 2 "$SONDE" try baseline --zones=x none -- true
run 2 "$SONDE" try baseline --zones=0 none -- true
# Failed runs are shorter: they get no verdict.
printf '#!/bin/sh\n%s 5\nexit 3\n' "$zones" >fails
chmod +x fails
run 0 "$SONDE" try baseline -i -r 2 -w 0 --zones=2 failing -- ./fails
has "$err" "zones are not kept: the command ended with exit code 3"
equal "$(jq -c 'select(.kind == "baseline") | .zones.zones // [] | length' .sonde-try/failing.jsonl)" 0
