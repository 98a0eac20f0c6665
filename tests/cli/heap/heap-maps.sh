# heap-maps.sh: memory that a program maps itself is recorded exactly, with its peak: the program makes a known sequence
# of calls of mmap, munmap, mremap, mprotect and brk. Mappings of the program's allocator do not count, and its
# behaviour is unchanged.
# timeout: 100
. "$(dirname "$0")/../lib.sh"
need jq
mappings=$(target mappings)

# row FUNCTION COLUMN: from the heap table of a.sonde, summed over all lines of the function.
row() {
	rows a.sonde heap | jq -r --arg f "$1" --arg c "$2" '[.[] | select(.function == $f)[$c]] | total'
}
# is FUNCTION CALLS ALLOCATED BLOCKS-LIVE LIVE, sizes in KiB
is() {
	equal "$1 $(rows a.sonde heap | jq -r --arg f "$1" '[.[] | select(.function == $f)] | "\(map(.allocations) | total) " +
		"\(map(.allocated_b) | total / 1024 | floor) \(map(.left_blocks) | total) \(map(.left_b) | total / 1024 | floor)"')" "$*"
}

plain=$("$mappings")
has "$plain" threads
for mode in --heap=full --heap "--heap=full --threads --io"; do # mappings are few: none is sampled away
	run 0 "$SONDE" record -q $mode --force -o a.sonde -- "$mappings"
	equal "$out" "$plain"
	equal "$err" ""
	is keeps 10 640 3 192
	is peaks 4 4096 0 0
	is trims 5 256 0 0          # 2 blocks are left without the middle, 1 without the beginning, 1 without the end
	is moves 5 480 0 0          # 64, 128, 256, what is left of that, and the 32 that move
	is stays 3 192 0 0          # mappings that could not grow, were unmapped and replaced count as new
	is replaces 3 192 0 0       # the half that is mapped over ends, the other stays
	is opens 2 256 0 0          # what is closed ends, the rest stays
	is files 1 16 0 0
	equal "$(row breaks allocated_b) $(row breaks left_b)" "100000 0"
	is unseen 0 0 0 0
	is turns 2000 128000 0 0
	# 3 of 64 KiB from before, then 4 of 1 MiB
	equal "$(row keeps peak_b) $(row peaks peak_b)" "$((192 * 1024)) $((4096 * 1024))"
	equal "$(row peaks peak_blocks)" 4
done

# An allocator's own mappings are not the program's; what is recorded of the program is the same.
shopt -s nullglob
for library in /usr/lib/*/lib{jemalloc,tcmalloc_minimal,mimalloc}.so.[0-9]; do
	run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- \
		sh -c 'LD_PRELOAD=$LD_PRELOAD:$1 exec "$0"' "$mappings" "$library"
	equal "$out" "$plain"
	is peaks 4 4096 0 0
	is moves 5 480 0 0
	is turns 2000 128000 0 0
	heaps=$(rows a.sonde heap | jq -c '[.[] | select(.allocated_b >= 1048576).function] | sort')
	equal "$heaps" '["peaks","turns"]'
done
