# heap-plugins.sh: recording allocations changes nothing in programs or plugins that bring their own functions
# (operators new and delete, mmap() and syscall(), a sanitizer's allocator), nor where loading a plugin waits for
# threads.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need jq
plugs=$(target heap_plugs)
maps=$(target heap_own_maps)

row() {
	rows a.sonde heap | jq -r --arg f "$1" '[.[] | select(.function == $f)] |
		"\(map(.allocations) | total) \(map(.allocated_b) | total) \(map(.left_blocks) | total)"'
}
# plain PROGRAM ARGUMENT…: runs it without sonde; what does not end hangs.
plain() {
	plain_code=0
	timeout 60 "$@" >plain.out 2>plain.err </dev/null || plain_code=$?
}
# same MODE PROGRAM ARGUMENT…: the same output, errors and exit code with sonde.
same() {
	local mode=$1
	shift
	run "$plain_code" timeout 60 "$SONDE" record -q $mode --force -o a.sonde -- "$@"
	cmp -s plain.out .out || fail "$mode: other output: $*"
	cmp -s plain.err .err || fail "$mode: other errors: $*"
}
goes() {
	local mode=$1
	shift
	plain "$@"
	same "$mode" "$@"
}
# in_all PROGRAM ARGUMENT…: in all modes.
in_all() {
	local mode
	plain "$@"
	for mode in --heap --heap=4K --heap=full; do
		same "$mode" "$@"
	done
}

# Objects with their own operators that are loaded and unloaded, at the same addresses, and two of them at once.
objects=$SONDE_BUILD/tests/targets
if [ -e "$objects/heap_plug_a.so" ]; then
	in_all "$plugs" turns "$objects"/heap_plug_{a,b}.so
	equal "$out" turns
	equal "$(row heap_plug_a)" "400 20000 0" # blocks that it keeps are gone with its memory
	equal "$(row heap_plug_b)" "400 20000 1"
	in_all "$plugs" together "$objects"/heap_plug_{a,b}.so
	equal "$out" together
	equal "$(row heap_plug_a)" "40 2000 2"
	equal "$(row heap_plug_b)" "60 3000 3"
	# Operators of an object that others depend on, and of the one that loaded it.
	in_all "$plugs" turns "$objects"/heap_{borrows,plug_a}.so
	matches "$(row heap_borrows)" "^400 20000 "
	in_all "$plugs" all "$objects"/heap_{lends,borrows,gives,plug_a}.so
	has "$out" "0: 312"
	equal "$(row heap_lends) $(row heap_borrows)" "40 2000 2 80 4000 4"
	in_all "$plugs" all "$objects"/heap_{borrows,lends}.so
	# More such objects than any table holds.
	many=()
	for i in $(seq 40); do
		cp "$objects/heap_plug_a.so" "plug$i.so"
		many+=("$work/plug$i.so")
	done
	in_all "$plugs" all "${many[@]}"
	has "$out" "39: 78"
	equal "$(row heap_plug_a)" "1600 80000 80"
	# A thousand times; all stacks are complete.
	goes --heap=full "$plugs" often "$objects/heap_borrows.so"
	matches "$(row heap_borrows)" "^20000 1000000 "
	run 0 "$SONDE" export -q -f folded --metric allocations -o - a.sonde
	equal "$(grep ";heap_borrows " .out | grep -c -v "^heap_plugs;_start;.*;main;do_often;work;plugin_works;heap_borrows 20000$" || true)" 0
	in_all "$plugs" fails "$objects/heap_plug_a.so"
	has "$out" "/nowhere/nothing.so: cannot open shared object file"
fi
# The same with a C++ library inside each.
if [ -e "$objects/heap_news_static.so" ]; then
	cp "$objects/heap_news_static.so" second.so
	for way in turns together; do
		in_all "$plugs" $way "$objects/heap_news_static.so" "$work/second.so"
	done
fi
# Children of threads, while others hold the dynamic loader's lock.
if [ -e "$objects/heap_news.so" ]; then
	in_all "$(target fork_locked)" "$objects/heap_news.so"
	equal "$out" "failed 0"
fi
# dlopen() waits for threads that allocate, and its message is unchanged.
if [ -e "$objects/heap_waits.so" ]; then
	for program in "$plugs" "$(target heap_plugs_cc)"; do
		in_all "$program" waits "$objects/heap_waits.so"
		equal "$out" waits
		equal "$(row uses)" "200 9600 0"
		in_all "$program" fails "$objects/heap_waits.so"
		has "$out" "/nowhere/nothing.so: cannot open shared object file"
	done
fi

for way in libc syscall; do
	in_all "$maps" $way
	equal "$out" "10 10"
	equal "$(row after)" "100 100000 100"
done

# Sanitizers: the installed compiler may lack the library for one.
for sanitizer in thread memory address; do
	for compiler in cc clang; do
		command -v $compiler >/dev/null || continue
		$compiler -O1 -g -pthread -fsanitize=$sanitizer "$repo/tests/targets/heap_sanitized.c" -o sanitized 2>/dev/null || continue
		plain ./sanitized
		[ "$plain_code" -eq 5 ] || continue # it cannot run here at all
		for mode in --heap --heap=full "--heap=full --no-perf"; do
			same "$mode" ./sanitized
		done
		echo "-fsanitize=$sanitizer by $compiler: as without us"
	done
done
