# heap-names.sh: functions that free blocks under other names (those of C23 and of old libraries) are recorded, too;
# sonde's object exports no names of another allocator, but uses the names that the program's allocator has. An
# allocator inside the executable is reported as not recorded.
# timeout: 60
. "$(dirname "$0")/../lib.sh"
need jq
names=$(target names)

row() {
	rows a.sonde heap | jq -r --arg f "$1" --arg c "$2" '[.[] | select(.function == $f)[$c]] | total'
}
shopt -s nullglob
for library in "" /usr/lib/*/lib{jemalloc,tcmalloc_minimal,mimalloc}.so.[0-9]; do
	old=$([ -n "$library" ] || echo cfree)
	plain=$(LD_PRELOAD=$library "$names" $old)
	run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- \
		sh -c 'LD_PRELOAD=$LD_PRELOAD${1:+:$1} exec "$0" $2' "$names" "$library" "$old"
	equal "$out" "$plain"
	[ -n "$library" ] || equal "$out" "names: 0 0 0 0 0 0 0 0"
	equal "$(row takes allocations) $(row takes allocated_b) $(row takes left_blocks)" "30 3000 0"
	equal "$(rows a.sonde heaps | jq '[.[].unknown] | add')" 0
done

# A non-PIE executable has its own address for malloc (a PLT entry), which does not make malloc its own.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$(target names_fixed)"
equal "$(row takes allocations) $(row takes left_blocks)" "30 0"
run 0 "$SONDE" report a.sonde
lacks "$out" "precedes the hooks"

# If malloc is in the executable, its blocks are not seen, which is reported; mappings are.
own=$(target own_malloc)
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$own"
equal "$out" "own malloc"
equal "$(rows a.sonde heaps | jq -c '[.[] | [.kind, .peak_b, .left_b]]')" '[["mappings",1048576,0]]'
run 0 "$SONDE" report a.sonde
has "$(tr -s '\n ' ' ' <<<"$out")" "1 process has an allocator that precedes the hooks"

# The same with an allocator that is preloaded before ours.
for library in /usr/lib/*/lib{jemalloc,tcmalloc,mimalloc}.so.[0-9]; do
	# shellcheck disable=SC2016
	run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- sh -c 'LD_PRELOAD=$1:$LD_PRELOAD exec "$0"' "$names" "$library"
	run 0 "$SONDE" report a.sonde
	has "$(tr -s '\n ' ' ' <<<"$out")" "1 process has an allocator that precedes the hooks"
done
