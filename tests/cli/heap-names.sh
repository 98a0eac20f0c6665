# heap-names.sh: names of free() that C23 and old libraries have take blocks, too; no name of another allocator comes from
# the recorder, and where an allocator brings them they are there.
# timeout: 60
. "$(dirname "$0")/lib.sh"
need jq
names=$(target names)

row() {
	rows a.sonde heap | jq -r --arg f "$1" --arg c "$2" '[.[] | select(.function == $f)[$c]] | add // 0'
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
