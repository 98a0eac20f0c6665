# cpu-stacks.sh: stacks of a known shape are recorded completely: recursion, inlined functions, depth, large frames,
# alloca, signal handlers.
# measures: shares of CPU time
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq
need_perf
stacks=$(target stacks)

# shape NAME [OPTION…]: records half a second in NAME.sonde, with its stacks in NAME.folded.
shape() {
	local name=$1
	shift
	quietly "$name.sonde" "$SONDE" record -q "$@" -o "$name.sonde" -- "$stacks" "$name" 0.5
	run 0 "$SONDE" export -f folded -o "$name.folded" "$name.sonde"
	echo "$name: $(metric "$name.sonde" samples.complete_percent) % of $(metric "$name.sonde" samples.count) to the root"
}

# percent NAME PATTERN: share of the sampled time in stacks that match; the largest other stacks are logged.
# Measured kernel time of an ordinary user has no stacks.
percent() {
	grep -v '^[^;]*;\[kernel\] [0-9]*$' "$1.folded" >.sampled
	grep -E "$2" .sampled >.some || true
	{ grep -Ev "$2" .sampled || true; } | awk '{ print $NF, (length($0) > 120 ? "…" substr($0, length($0) - 119) : $0) }' | sort -rn |
		sed -n "1,3s/^/$1: other: /p" >&2
	awk 'FILENAME == ".some" { some += $NF; next } { all += $NF } END { print 100 * some / all }' .some .sampled
}

whole() {
	holds "$(metric "$1.sonde" samples.complete_percent) >= $2"
}

# Recursion: three quarters of the time below descend, 40 levels deep and counted once; one quarter below ping and
# pong, which call each other.
shape recursion
whole recursion 97
near "$(share recursion.sonde total_share descend)" 75 10
near "$(share recursion.sonde total_share ping)" 25 10
near "$(share recursion.sonde total_share pong)" 25 10
holds "$(rows recursion.sonde functions | jq '[.[].total_share] | max') <= 1"
unsampled="$(metric recursion.sonde samples.not_sampled_s) / $(metric recursion.sonde samples.cpu_time_s)" # it belongs to no function
near "$(rows recursion.sonde functions | jq '[.[].self_share] | add')" "(1 - $unsampled)" 0.001
near "$(percent recursion ';recursion(;descend){40};leaf;burn')" 75 10
near "$(percent recursion ';recursion(;ping;pong){20};ping;leaf;burn')" 25 10
run 0 "$SONDE" report --section callers --focus descend --json recursion.sonde
holds "$(jq '[.sections[0].rows[] | select(.relation == "caller").share] | add' .out) <= 1.001"

# 500 frames, all of them present; endless recursion: truncated at the limit, with a note.
shape deep
whole deep 97
holds "$(percent deep ';main;deep(;descend){500};leaf;burn') >= 95"
shape bottomless
holds "$(percent bottomless '^stacks;descend;.*;descend') >= 90"
run 0 "$SONDE" report bottomless.sonde
matches "$out" '^! .*deeper than the limit'
near "$(share bottomless.sonde total_share descend)" 98 4

# Inlined functions have their names, lines and the right callers.
shape inlined
near "$(percent inlined ';main;inlined;outer_three;middle;innermost;burn')" 75 10
near "$(percent inlined ';main;inlined;outer_one;middle;innermost;burn')" 25 10
near "$(share inlined.sonde total_share middle)" 100 3
for function in outer_three outer_one; do
	line=$(grep -n "void $function(void)" "$repo/tests/targets/stacks.c" | cut -d : -f 1)
	equal "$(rows inlined.sonde functions | jq --arg f $function '.[] | select(.function == $f).line')" "$line"
done
run 0 "$SONDE" report --section lines --focus burn --json inlined.sonde
multiply=$(grep -n '6364136223846793005u' "$repo/tests/targets/burn.h" | cut -d : -f 1)
# The loop's four instructions belong to the lines of its head and its body.
holds "$(jq "[.sections[0].rows[] | select(.line != null and (.line - $multiply | fabs) <= 1).self_share] | add" .out) > 0.8"

# Frames larger than the stack copy are read from the process if it does not run on (less often on a busy machine). A
# stack marked complete is correct.
for size in large_1:large_2:large_3 huge_1:huge_2; do
	name=${size%%_*}
	shape "$name"
	whole "$name" 60
	right=$(percent "$name" ";main;${size//:/;};leaves;leaf;burn")
	holds "$right >= 60"
	near "$right" "$(percent "$name" '_start.*;leaf;burn')" 0.5
done

# Frames of varying size: stacks within the copy are complete; larger ones are complete or marked incomplete.
shape alloca --stack 63K
whole alloca 97
holds "$(percent alloca ';main;varied(;varying){8};leaf;burn') >= 95"
rm alloca.*
shape alloca --stack 4K
run 0 "$SONDE" report --section summary alloca.sonde
matches "$out" '^! .*are incomplete: stack copy too short'
run 0 "$SONDE" report --section summary --json alloca.sonde
holds "$(jq '[.. | strings | select(test("are incomplete: stack copy too short"))] | length' .out) == 1"
holds "$("$SONDE" query -q -f csv alloca.sonde "SELECT count(*) FROM samples WHERE status LIKE 'stack copy too short%'" | tail -n 1) > 0"
holds "$(percent alloca '_start.*;leaf;burn') - $(percent alloca ';main;varied(;varying){8};leaf;burn') <= 2"

# A signal handler appears above the interrupted function, down to main; also on an alternate stack, and at any
# instruction.
shape signals
whole signals 97
holds "$(percent signals ';main;.*;interrupted;raise;.*;handler;leaf;burn') >= 90"
shape signals-elsewhere
holds "$(percent signals-elsewhere ';main;.*;interrupted;raise;.*;handler;leaf;burn') >= 80"
shape any-time
whole any-time 97
holds "$(percent any-time ';main;any_time;.*handler;leaf;burn') >= 10"

# The root of a coroutine is where makecontext() put it.
shape contexts
whole contexts 97
holds "$(percent contexts 'coroutine;leaf;burn') >= 90"

# C++: names are demangled, and neither exceptions nor destructors break stacks.
throwing=$(target throwing)
run 0 "$SONDE" record -q -o throwing.sonde -- "$throwing" 1
run 0 "$SONDE" export -f folded -o throwing.folded throwing.sonde
whole throwing 97
near "$(share throwing.sonde total_share 'known::recovered()')" 50 8
near "$(share throwing.sonde total_share 'known::Guard::~Guard()')" 25 8
near "$(share throwing.sonde total_share 'known::Box<int>::work(int)')" 25 8
holds "$(percent throwing ';main;known::attempt..;known::guarded') >= 15"
