# try.sh: sonde try saves baselines and attempts. The baseline is run again, interleaved, if possible (from its saved
# copy if the program was rebuilt); comparisons that make no sense are rejected. The journal survives kills, damage, a
# full disk and two writers.
# measures: how long runs take
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need jq
program() { # FILE SECONDS: what waits is known better than what computes, whoever else uses the machine
	printf '#!/bin/sh\nsleep %s\n' "$2" >"$1"
	chmod +x "$1"
}
try() {
	"$SONDE" try "$@"
}
report() {
	"$SONDE" try report --json --force -o try.json "$@"
}
shows() {
	holds_in try.json "$1"
}
table() { # SECTION
	echo "(.sections[] | select(.id == \"try-$1\") | .rows)"
}

# The journal is next to .git and ignored by it, from whatever subfolder the command is run.
mkdir -p repo/.git repo/src
cd repo/src
program app 0.3
program faster 0.1
run 0 try baseline -r 12 -w 1 loop -- ./app
[ -s ../.sonde-try/loop.jsonl ] || fail "no journal beside .git"
equal "$(cat ../.sonde-try/.gitignore)" "*"

# Another command: both run interleaved.
run 0 try run --gate -r 12 -w 1 --json loop 'less to wait for' -- ./faster
holds_in "$work/.out" '.experiment == "loop" and .attempt == 1 and .in_turn and .count == 12 and .verdict == "improved" and
	(.runs | length) == 12 and .runs[0].first == "baseline" and .runs[0].baseline.wall_s >= 0.3'

# Rebuilt in place: the old program cannot run again, so the journal's runs are compared, with a note.
program app 0.6
run 1 try run --gate -r 12 -w 1 loop 'more to wait for' -- ./app
has "$err" "has changed"
matches "$out" "the baseline's 12 are those of 20"
matches "$out" '^regressed: [0-9.]+× slower'
program app 0.3
run 0 try run -r 8 -w 1 loop 'nothing' -- ./app
has "$err" "no file of the command has changed"
report loop
shows '.attempts == 3 and .improved == 1 and .regressed == 1'
shows "$(table improved) | length == 1 and .[0].attempt == 1 and .[0].improvement > 0.4 and .[0].improvement < 0.8"
shows "$(table improved)[0] | .what == \"less to wait for\" and (.ci95_low | figure) < .improvement and .ci95_high > .improvement"
shows "$(table regressed)[0] | .attempt == 2 and (.improvement | figure) < -0.4 and (.before_ns | figure) < .after_ns"
shows "$(table metrics) | map(select(.attempt == 1 and .metric == \"throughput\"))[0] | .after > (.before | figure) and .improvement > 0.25"
shows "$(table metrics) | map(select(.attempt == 1 and .metric == \"wall\"))[0].verdict == \"improved\""
shows "$(table baselines) | length == 1 and .[0].runs == 12 and .[0].wall_ns > 0 and .[0].runs_per_s > 0"

# A saved copy of the baseline runs instead; --vs is not needed to find it.
run 0 try baseline --keep -r 12 -w 1 kept -- ./app
program app 0.1
run 0 try run --gate -r 12 -w 1 --json kept 'in place' -- ./app
holds_in "$work/.out" '.in_turn and .verdict == "improved" and (.baseline | contains("/.sonde-try/kept."))'
# A copy that others can write is not run, nor is one that is gone: the journal's runs are compared.
kept=$(ls ../.sonde-try/kept.* | grep -v jsonl)
chmod 775 "$kept"
run 0 try run -r 8 -w 1 --json kept 'writable' -- ./app
has "$err" "it is not run"
holds_in "$work/.out" '.in_turn == false'
rm "$kept"
run 0 try run -r 8 -w 1 --json kept 'gone' -- ./app
has "$err" "it is not run"

# A copy of an interpreter would run the new script: the baseline is not run again, and the reason is given.
program script.sh 0.3
run 0 try baseline --keep -r 12 -w 1 interpreted -- sh script.sh
run 0 try run -r 8 -w 1 --json interpreted 'nothing' -- sh script.sh
has "$err" "was it built?"
program script.sh 0.1
run 0 try run --gate -r 12 -w 1 --json interpreted 'edited' -- sh script.sh
has "$err" "script.sh has changed"
holds_in "$work/.out" '.in_turn == false and .verdict == "improved" and (.baseline | contains(".sonde-try") | not)'
run 125 try baseline --keep -r 2 line -- './app | cat'
has "$err" "which program a shell line runs"

# Attempts that are no better are listed separately, sorted by effect.
program slower 0.8
run 0 try run -r 10 -w 1 loop 'much worse' -- ./slower
report loop
shows "$(table regressed) | map(.attempt)[0] == 4 and (map(.improvement | figure) | . == sort)"
run 0 try report
matches "$out" '^ +loop +4 +1 +2 '
run 0 env COLUMNS=80 "$SONDE" try report loop
fits 80

# Two concurrent attempts are both saved.
for i in 1 2 3 4 5 6; do
	try run -r 2 -w 0 loop "at once $i" -- ./faster >/dev/null 2>&1 &
done
wait
report loop
shows '.attempts == 10'

# An attempt that is killed while it measures leaves nothing; a partial line is counted and damages no other.
lines=$(wc -l <../.sonde-try/loop.jsonl)
{ timeout -s KILL 1 "$SONDE" try run -r 1000 loop 'killed' -- ./app; } 2>/dev/null || true
equal "$(wc -l <../.sonde-try/loop.jsonl)" "$lines"
run 125 timeout --foreground --preserve-status -s INT 1.5 "$SONDE" try run -r 1000 loop 'interrupted' -- ./app
has "$err" "nothing was added to the journal"
head -c -40 ../.sonde-try/loop.jsonl >cut
cp cut ../.sonde-try/loop.jsonl
report loop
shows '.attempts == 9 and any(.notes[].text; test("1 journal line"))'
run 0 try run -r 2 -w 0 loop 'after it' -- ./faster
report loop
shows '.attempts == 10'
sed -i 's/"wall_s":0/"wall_s":9/' ../.sonde-try/loop.jsonl
run 0 try report loop
has "$out" "0 attempts"
run 4 try run loop x -- ./app
has "$err" "no baseline that can be read"

# A full disk: the loss of the result is reported, and the journal stays intact.
run 0 try baseline -r 2 full -- ./app
(ulimit -f 2 && run 125 try run -r 12 -w 0 full 'no room' -- ./faster)
grep -q "not added to the journal" "$work/.err" || fail "it is not said"
grep -q "12 runs" "$work/.out" || grep -q "12 pairs" "$work/.out" || fail "what was measured is lost"
[ "$(stat -c %s ../.sonde-try/full.jsonl)" -lt 2048 ] || fail "half an entry is left"
report full
shows '.attempts == 0'

# A journal that cannot be written is noticed before anything runs.
mkdir ../.sonde-try/unwritable.jsonl
run 125 try baseline -r 2 unwritable -- sh -c 'touch ran'
[ ! -e ran ] || fail "it was measured for nothing"
rmdir ../.sonde-try/unwritable.jsonl
run 125 try baseline -j nothing/there -r 2 x -- sh -c 'touch ran'
[ ! -e ran ] || fail "it was measured for nothing"

# Rejected comparisons: another machine, another folder.
run 0 try baseline -r 2 moved -- ./app
cd ..
run 2 try run moved x -- src/app
has "$err" "was run in"
cd src
run 0 try baseline -r 2 other -- ./app
taskset -c 0 true 2>/dev/null && [ "$(nproc)" -gt 1 ] && {
	run 4 taskset -c 0 "$SONDE" try run --gate other 'pinned' -- ./app
	has "$err" "is from another machine"
}

# Wrong usage.
run 2 try
run 2 try nonsense
run 2 try baseline x
run 2 try run x -- ./app
run 2 try report x y
run 2 try report -f svg loop
run 2 try baseline a/b -- ./app
has "$err" "cannot name an experiment"
run 2 try baseline ../x -- ./app
run 4 try run nosuch 'x' -- ./app
has "$err" "no baseline"
run 4 try report nosuch
run 127 try baseline gone -- ./nosuch
run 4 try baseline fails -- false
has "$err" "failed (exit code 1)"
[ ! -e ../.sonde-try/gone.jsonl ] && [ ! -e ../.sonde-try/fails.jsonl ] || fail "an entry of nothing"

# Commands in a journal are executed, so a journal that others can write is rejected.
mkdir ../../shared
chmod 777 ../../shared
run 125 try baseline -j ../../shared -r 2 x -- ./app
has "$err" "others can write there"
chmod 770 ../../shared
run 125 try baseline -j ../../shared -r 2 x -- ./app
equal "$(stat -c %a ../.sonde-try ../.sonde-try/full.jsonl | tr '\n' ' ')" "700 600 "
run 4 try report -j ../../nothing-there

# Other kinds of files in the journal's folder are ignored and never block.
mkdir ../.sonde-try/folder.jsonl
mkfifo ../.sonde-try/fifo.jsonl
run 0 timeout 20 "$SONDE" try report
lacks "$out" fifo
has "$out" full
for name in folder fifo; do
	run 4 timeout 20 "$SONDE" try report $name
	matches "$err" "$name"
done
