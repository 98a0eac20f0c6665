# cpu-assembly.sh: stacks through assembly code without call-frame information are complete through derived rules, or
# marked incomplete; the report counts both.
# measures: shares of samples by how they were unwound
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
need_perf
assembly=$(target assembly)
stripped=$(target assembly_stripped)
known='in_leaf|pushes|frame|moves|realigned|saved|register|red_zone|alloca|calls|tail|fails|caller' # labels at which samples may lie

run 0 "$SONDE" record -q -F 4000 -o a.sonde -- "$assembly" 3
run 0 "$SONDE" export -f folded -o a.folded a.sonde
grep ';shape_' a.folded | grep -v ';\[kernel\]' >shapes.folded

# times PATTERN: the CPU time of the stacks that match.
times() {
	{ grep -E "$1" shapes.folded || true; } | awk '{ sum += $NF } END { print sum + 0 }'
}

# Every stack marked complete passes main and work, and nearly all stacks are complete.
equal "$({ grep '_start.*;shape_' shapes.folded || true; } | grep -vc ';main;work;shape_' || true)" 0
for shape in ${known//|/ }; do
	holds "$(times ";main;work;(shape_[a-z_]*;)*shape_$shape(;| )") > 0" "$shape"
done
holds "$(times "^[^;]*;shape_($known)(;| )") <= 0.01 * $(times ";main;work;(shape_[a-z_]*;)*shape_($known)(;| )")"

# Where code paths disagree, no caller is derived: only code before and after has one. shape_in_refused is a label
# inside the loop of shape_pairs; on which side of it samples lie depends on the processor.
for shape in '(pairs|in_refused)' computed; do
	holds "$(times "^[^;]*;shape_$shape ") > 4 * $(times ";main;work;shape_$shape ")" "$shape"
done
query() {
	"$SONDE" query -q -f csv a.sonde "$1" | tail -n 1
}
derived=$(query "SELECT count(*) FROM samples WHERE status LIKE '%derived%'")
holds "$derived > 0 && $(query "SELECT count(*) FROM samples WHERE status LIKE '%frame pointers%'") <= 0.02 * $derived"
run 0 "$SONDE" report --section summary a.sonde
matches "$out" " stacks .* are complete by rules derived from instructions"
matches "$out" '^! .*are incomplete: code without call-frame information'

# Symbols are not needed.
run 0 "$SONDE" record -q -F 4000 -o s.sonde -- "$stripped" 3
near "$(metric s.sonde samples.complete_percent)" "$(metric a.sonde samples.complete_percent)" 6

# Timers inside processes give the same stacks.
run 0 "$SONDE" record -q --no-perf -o t.sonde -- "$assembly" 3
near "$(metric t.sonde samples.complete_percent)" "$(metric a.sonde samples.complete_percent)" 12
