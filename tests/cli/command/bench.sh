# bench.sh: sonde bench measures the same time as the shell's clock, finds a known difference between two commands,
# finds none where there is none, and treats output, input and failures as documented.
# measures: how long runs take
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need jq
loop() { # COUNT: as many rounds in a shell, which CPU time is proportional to
	echo "i=0; while [ \$i -lt $1 ]; do i=\$((i+1)); done"
}
figure() {
	jq -r ".$1" bench.json
}
shows() {
	holds_in bench.json "$1"
}

# Known iterations: the baseline does 3 ÷ 2 of the candidate's work, minus the start of a shell in both.
run 0 "$SONDE" bench -f --json -o bench.json -r 16 --vs "$(loop 60000)" -- "$(loop 40000)"
[ ! -s .err ] || fail "it says something beside -o"
shows '.metrics.cpu_s.speedup > 1.25 and .metrics.cpu_s.speedup < 1.8'
shows '(.metrics.cpu_s.ci95_low | figure) < 1.52 and .metrics.cpu_s.ci95_high > 1.44' # 3 ÷ 2, and with the shell
shows '(.metrics.cpu_s.ci95_low | figure) < .metrics.cpu_s.speedup and .metrics.cpu_s.speedup < .metrics.cpu_s.ci95_high'
shows '.metrics.cpu_s.verdict == "improved" and (.metrics.cpu_s.p | figure) < 0.01'
shows '.schema == "sonde-bench" and .version == 1 and .count == 16 and .warmups == 3 and (.runs | length) == 16'
shows '[.runs[].first] == [range(16) | if . % 2 == 0 then "baseline" else "candidate" end]'
shows '(.metrics.wall_s.candidate.mean - ([.runs[].candidate.wall_s] | add / 16) | fabs) < 1e-9'
shows '.metrics.wall_s.candidate.mean >= .metrics.cpu_s.candidate.mean * 0.95'

# The top-level figures are those of the metric named there.
shows '. as $all | .metrics[.metric] | (.verdict | strings) == $all.verdict and (.speedup | figure) == $all.speedup and (.p | figure) == $all.p'

# Waiting counts as wall time: 200 ms against 300 ms, and --gate exits with 1.
run 1 "$SONDE" bench --gate -f --json -o bench.json -r 12 --vs 'sleep 0.2' -- 'sleep 0.3'
shows '.metric == "wall_s" and .verdict == "regressed" and .speedup > 0.6 and .speedup < 0.75'
run 0 "$SONDE" bench --gate -f --json -o bench.json -r 12 --vs 'sleep 0.3' -- 'sleep 0.2'
shows '.verdict == "improved" and .metrics.wall_s.baseline.mean >= 0.3 and .metrics.wall_s.baseline.min >= 0.3'

run 3 "$SONDE" bench --gate -f --json -o bench.json -r 5 -w 0 --vs 'sleep 0.01' -- 'sleep 0.05'
shows '.verdict == "inconclusive" and .ci95_high == null and .p > 0.05'
run 3 "$SONDE" bench --gate -r 7 -w 0 --vs 'sleep 0.01' -- 'sleep 0.05' # every pair differs in the same direction: p is 2 ÷ 2⁷
has "$out" "with fewer than 10 pairs, a difference in a single metric is never significant"
run 0 "$SONDE" bench -f --json -o bench.json -m 50% -r 16 --vs "$(loop 20000)" -- "$(loop 20000)"
shows '.metrics.cpu_s.verdict | IN("unchanged", "inconclusive")'

# One command: separate words need no shell, a single string is run by one, and the time agrees with another clock.
run 0 "$SONDE" bench -f --json -o bench.json -r 5 -- sleep 0.2
shows '.shell_s == null and .baseline == null and has("speedup") == false'
shows '.metrics.wall_s.candidate.min >= 0.2 and (.metrics.wall_s.candidate.mean | figure) < 0.4'
shows '(.metrics.cpu_s.candidate.mean | figure) < 0.05 and .metrics.peak_rss_b.candidate.mean > 100000'
run 0 "$SONDE" bench -f --json -o bench.json -r 2 'sleep 0.01 | cat'
shows '.shell_s > 0 and .candidate == "sleep 0.01 | cat"'
run 0 "$SONDE" bench -f --json -o bench.json -r 2 -w 0 -- sh -c 'echo "it'"'"'s" "$1" >>said' x 'a  b$c'
equal "$(cat said)" "it's a  b\$c
it's a  b\$c"
run 0 sh -c "$(figure candidate)"
equal "$(tail -n 1 said)" "it's a  b\$c"

# Without --runs it stops by itself.
run 0 "$SONDE" bench -f --json -o bench.json -w 0 -- sleep 0.02
shows '.count >= 20 and .count <= 100'

# Output is discarded or kept, the input is empty, and preparations run before each run and are not measured.
run 0 "$SONDE" bench -r 2 -w 1 --prepare 'echo p >>order; echo prepared' -- sh -c 'cat; echo said | tr s S; echo r >>order'
lacks "$out" Said
lacks "$out" prepared
equal "$(tr -d '\n' <order)" prprpr
run 0 "$SONDE" bench -f -o table -r 2 -w 1 --show-output -- echo said
equal "$out" "said
said
said"

# Text output fits in 80 columns.
run 0 env COLUMNS=80 "$SONDE" bench -r 8 --vs 'sleep 0.01' -- 'sleep 0.011'
matches "$out" '^  wall +[0-9.]+ ms ±[0-9.]+ % +[0-9.]+ ms ±[0-9.]+ % +[0-9.]+ +[0-9.]+ to [0-9.]+$'
matches "$out" '^(improved|unchanged|regressed|inconclusive): [0-9.]+× (faster|slower) by wall time'
fits 80

# A failing command gets no time.
run 4 "$SONDE" bench -- false
has "$err" "'false' failed (exit code 1)"
run 4 "$SONDE" bench --gate --vs true -- 'exit 3'
run 0 "$SONDE" bench -r 3 -i -- false
has "$out" "3 runs failed, but count anyway"
run 127 "$SONDE" bench -- ./nosuch
run 2 "$SONDE" bench --gate -- true
run 2 "$SONDE" bench
run 2 "$SONDE" bench -m 200% -- true
run 125 "$SONDE" bench -r 2 -o /dev/full -- true
echo kept >kept
run 125 "$SONDE" bench -r 2 -o kept -- true
equal "$(cat kept)" kept

# Interrupted: the runs measured until then are reported.
run 0 timeout --foreground --preserve-status -s INT 1.5 "$SONDE" bench -w 0 -r 1000 -- sleep 0.1
has "$out" "interrupted: the figures cover the runs so far"

run 3 timeout --foreground --preserve-status -s INT 2.5 "$SONDE" bench --gate -w 0 -r 1000 --vs 'sleep 0.1' -- 'sleep 0.2'

# A signal sent only to sonde reaches the command; a --prepare that fails midway gives no verdict.
run 125 timeout --foreground --preserve-status -s TERM 3 "$SONDE" bench -w 0 -r 3 --show-output -- \
	sh -c 'trap "echo told; exit" TERM; i=0; while [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done'
has "$out" told
run 125 "$SONDE" bench -f --json -o bench.json --gate -w 0 -r 20 --vs 'sleep 0.02' \
	--prepare 'echo x >>count; [ "$(wc -l <count)" -lt 24 ]' -- 'sleep 0.01'
shows '.count == 11 and (.error | startswith("--prepare"))'

# An ordinary user needs nothing more.
run 0 as_user "$SONDE" bench -r 2 -- true
