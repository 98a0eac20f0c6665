# heap-plugins.sh: recording allocations changes nothing where a program or what it loads brings functions of its own:
# operators new and delete, mmap() and syscall(), a sanitizer's allocator.
# timeout: 300
. "$(dirname "$0")/lib.sh"
need jq
plugs=$(target heap_plugs)
maps=$(target heap_own_maps)

row() {
	rows a.sonde heap | jq -r --arg f "$1" '[.[] | select(.function == $f)] |
		"\(map(.allocations) | add // 0) \(map(.allocated_b) | add // 0) \(map(.left_blocks) | add // 0)"'
}
# goes MODE PROGRAM ARGUMENT…: the same output, errors and exit code with and without.
goes() {
	local mode=$1 code=0
	shift
	"$@" >plain.out 2>plain.err </dev/null || code=$?
	run "$code" "$SONDE" record -q $mode --force -o a.sonde -- "$@"
	cmp -s plain.out .out || fail "$mode: other output: $*"
	cmp -s plain.err .err || fail "$mode: other errors: $*"
}

# Objects with operators of their own that come and go, at the same addresses, and two of them at once.
if [ -e "$SONDE_BUILD/tests/targets/heap_plug_a.so" ]; then
	for mode in --heap --heap=4K --heap=full; do
		goes "$mode" "$plugs" turns "$SONDE_BUILD"/tests/targets/heap_plug_{a,b}.so
		equal "$out" turns
	done
	equal "$(row heap_plug_a)" "400 20000 0" # what it keeps goes with its memory
	equal "$(row heap_plug_b)" "400 20000 1"
	for mode in --heap --heap=4K --heap=full; do
		goes "$mode" "$plugs" together "$SONDE_BUILD"/tests/targets/heap_plug_{a,b}.so
		equal "$out" together
	done
	equal "$(row heap_plug_a)" "40 2000 2"
	equal "$(row heap_plug_b)" "60 3000 3"
fi
# The same with a C++ library inside each.
if [ -e "$SONDE_BUILD/tests/targets/heap_news_static.so" ]; then
	cp "$SONDE_BUILD/tests/targets/heap_news_static.so" second.so
	for mode in --heap --heap=full; do
		goes "$mode" "$plugs" turns "$SONDE_BUILD/tests/targets/heap_news_static.so" "$work/second.so"
		goes "$mode" "$plugs" together "$SONDE_BUILD/tests/targets/heap_news_static.so" "$work/second.so"
	done
fi

for way in libc syscall; do
	for mode in --heap --heap=4K --heap=full; do
		goes "$mode" "$maps" $way
		equal "$out" "10 10"
	done
	equal "$(row after)" "100 100000 100"
done

# Sanitizers: the compiler at hand may have no library for one.
for sanitizer in thread memory address; do
	for compiler in cc clang; do
		command -v $compiler >/dev/null || continue
		$compiler -O1 -g -pthread -fsanitize=$sanitizer "$repo/tests/targets/heap_sanitized.c" -o sanitized 2>/dev/null || continue
		./sanitized >/dev/null 2>&1 || [ $? -eq 5 ] || continue # it cannot run here at all
		for mode in --heap --heap=full "--heap=full --no-perf"; do
			goes "$mode" ./sanitized
		done
		echo "-fsanitize=$sanitizer by $compiler: as without us"
	done
done
