# heap-leaks.sh: leaks at exit, and growth over time, have the known answers of the programs.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
need jq
leaks=$(target leaks)

# of CLASS FUNCTION FIELD…: sums over the leaks in a.sonde.
of() {
	local class=$1 function=$2
	shift 2
	rows a.sonde leaks | jq -r --arg c "$class" --arg f "$function" \
		'[.[] | select(.class == $c and .function == $f)] as $r | [$ARGS.positional[] as $k | [$r[][$k]] | total] | join(" ")' \
		--args "$@"
}
# lost FUNCTION BLOCKS BYTES DIRECT; kept FUNCTION BLOCKS BYTES
lost() {
	equal "$1 $(of unreachable "$1" blocks bytes direct_blocks)" "$*"
}
kept() {
	equal "$1 $(of reachable "$1" blocks bytes)" "$*"
	equal "$1 $(of unreachable "$1" blocks bytes)" "$1 0 0"
}
record() {
	local code=$1
	shift
	run "$code" "$SONDE" record -q --heap=full --force -o a.sonde -- "$@"
}
# in_all CLASS: number of blocks.
in_all() {
	rows a.sonde leaks | jq --arg c "$1" '[.[] | select(.class == $c).blocks] | total'
}

# Known answers; the program's behaviour is unchanged.
known() {
	equal "$out" known
	equal "$err" ""
	lost direct 20 2000 20
	lost heads 10 320 10
	lost links 30 1440 0
	lost ring 10 640 0
	lost past 2 144 2
	equal "$(in_all unreachable)" 72
	kept globals 30 1200
	kept nodes 50 1200
	kept interior 4 800
	kept locals 3 168
	kept onstack 1 88
	kept sleeper 1 104
	kept sleeper_local 1 120
	kept registers 1 136
	kept early 0 0
	equal "$(in_all "not known")" 0
}
for i in 1 2 3; do
	record 5 "$leaks" known
	known
done
run 0 "$SONDE" report a.sonde
matches "$out" '^ *unreachable +2.00 kB +20 .* direct'
lacks "$out" "  reachable "
run 0 "$SONDE" report --json --section leaks a.sonde
holds_in .out '.sections[] | select(.id == "leaks").rows | length > 0 and all(has("class") and has("site") and has("bytes") and has("blocks"))'
has "$out" "direct (leaks.c:"

# An ordinary user, who may read the memory of processes that they started.
if [ "$(id -u)" -eq 0 ]; then
	run 5 as_user "$SONDE" record -q --heap=full --force -o "$work/user.sonde" -- "$leaks" known
	cp user.sonde a.sonde
	known
fi

record 0 "$leaks" clean
run 0 "$SONDE" report a.sonde
has "$out" "no leaks found"
record 0 "$leaks" mapped
kept in_mapping 3 144
record 0 "$leaks" forks
lost direct 20 2000 20
lost inside_child 7 210 7
record 0 "$leaks" crowd
equal "$out" crowd
lost loses 160 2560 160
kept holder 160 5120

# Calls that would fail with EINTR if their thread were stopped: these threads are not disturbed, and the program
# reports no error.
for i in 1 2 3 4 5; do
	record 0 "$leaks" calls
	equal "$out" ""
	equal "$err" ""
	lost direct 20 2000 20
done

# Ways to end that bypass the hooks: reachability is unknown, with the reason.
for end in "_exit 4" "abort 134" "kill 137"; do
	run "${end#* }" "$SONDE" record -q --heap=full --force -o a.sonde -- "$leaks" leaves "${end% *}"
	equal "$(of "not known" direct blocks bytes)" "20 2000"
	equal "$(in_all unreachable)" 0
	run 0 "$SONDE" report a.sonde
	has "$out" "memory not scanned"
done

# The recording ends before the program.
run 0 "$SONDE" record -q --heap=full -d 1s --force -o a.sonde -- "$leaks" grows 2000
equal "$(in_all unreachable)" 0
run 0 "$SONDE" report --section leaks a.sonde
has "$out" "it outlived the recording"

# Many blocks: 1 % of 10 MB is unreachable. With samples this is an estimate, which exceeds the truth only by chance.
record 0 "$leaks" much 10
lost fills 1000 100000 1000
run 0 "$SONDE" record -q --heap=4K --force -o a.sonde -- "$leaks" much 10
estimate=$(of unreachable fills bytes)
holds "($estimate - 100000)^2 < 4.5^2 * 100 * 4096 * 1000" "lost: $estimate of 100000"

# Sampling should cost next to nothing: if a short program has much memory, it is not scanned.
run 0 "$SONDE" record -q --heap --force -o a.sonde -- "$leaks" much 200
equal "$(in_all unreachable)" 0
run 0 "$SONDE" report --section leaks a.sonde
has "$out" "0.5 % of its CPU time"

# C++: static containers; arrays without elements.
if [ -x "$SONDE_BUILD/tests/targets/leaks_static" ]; then
	record 0 "$SONDE_BUILD/tests/targets/leaks_static"
	lost "lost()" 3 120 3
	lost "lines()" 2 16 2
	equal "$(in_all unreachable)" 5
	kept "none()" 4 32
fi

# Growth: only the list; its slope.
record 0 "$leaks" grows 3000
equal "$(rows a.sonde leaks | jq -r '[.[] | select(.class == "growing").function] | join(" ")')" grow
near "$(of growing grow slope_b_s)" 640000 32000
holds "$(of growing grow confidence) > 0.999" "sure of growth"

# A program built for LeakSanitizer: its suppressions are applied.
if command -v gcc >/dev/null; then
	cat >suppress.c <<-'END'
	#include <stdlib.h>
	const char *__lsan_default_suppressions(void) { return "leak:known_one\nleak:^other_?ne$\n"; }
	__attribute__((noinline)) void *known_one(void) { return calloc(3, 5); }
	__attribute__((noinline)) void *new_one(void) { return calloc(7, 5); }
	static void *volatile gone;
	int main(void) { gone = known_one(); gone = new_one(); gone = NULL; return 0; }
	END
	gcc -O1 -g -rdynamic suppress.c -o suppress
	record 0 ./suppress
	lost new_one 1 35 1
	equal "$(of unreachable known_one blocks)" 0
	run 0 "$SONDE" report --section leaks a.sonde
	has "$out" "1 unreachable block (15 B) suppressed"
fi
