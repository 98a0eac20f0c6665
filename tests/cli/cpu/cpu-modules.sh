# cpu-modules.sh: shares and stacks are right for programs that are static, static-PIE or stripped, and for code that is
# generated at run time, or that is loaded and unloaded again.
# measures: shares of CPU time
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
need_perf

# Five standard errors of 1500 samples at 60 % are 6.3 points.
for program in split_static split_static_pie; do
	run 0 "$SONDE" record -q -o $program.sonde -- "$(target $program)" 1.5
	near "$(share $program.sonde total_share alpha)" 60 7
	near "$(share $program.sonde total_share beta)" 30 7
	near "$(share $program.sonde total_share gamma_)" 10 4
	holds "$(metric $program.sonde samples.complete_percent) >= 97"
	run 0 "$SONDE" export -f folded -o - $program.sonde
	matches "$out" "^split_static[_a-z]*;.*;main;run;alpha;burn [0-9]+$"
done

# Stripped: each function is one row, named by its start address, and the report says how to get names.
stripped=$(target split_stripped)
run 0 "$SONDE" record -q -o stripped.sonde -- "$stripped" 1.5
rows stripped.sonde functions | jq -r '.[] | select(.module == "split_stripped" and .self_share > 0.01) |
	"\(.function) \(100 * .self_share)"' | sort -k 2 -n -r >entries
cat entries
equal "$(wc -l <entries)" 3
matches "$(cat entries)" '^split_stripped\+0x[0-9a-f]+ [0-9.]+$'
near "$(sed -n '1s/.* //p' entries)" 60 7
near "$(sed -n '2s/.* //p' entries)" 30 7
near "$(sed -n '3s/.* //p' entries)" 10 4
while read -r name _; do # the address is the function's first byte, as in the unstripped program
	grep -qE "^0*${name##*0x} [Tt] (alpha|beta|gamma_)$" <<<"$(nm "$(target split)" 2>/dev/null)" || fail "$name is no function"
done <entries
run 0 "$SONDE" report stripped.sonde
has "$(tr -s ' \n' ' ' <.out)" "unnamed (module+0x…): add --debuginfod"
holds "$(metric stripped.sonde samples.complete_percent) >= 97"

# Generated code, named by /tmp/perf-PID.map. The path is fixed, and some systems let only root write there.
jit=$(target jit)
if [ -w /tmp ]; then
	"$SONDE" record -q -o jit.sonde -- "$jit" 1.5 >map || fail "jit ended with $?"
	rm -f "$(cat map)"
	near "$(share jit.sonde self_share jit_major)" 75 6
	near "$(share jit.sonde self_share jit_minor)" 25 6
	holds "$(metric jit.sonde samples.complete_percent) >= 97"
	run 0 "$SONDE" export -f folded -o - jit.sonde
	matches "$out" '^jit;.*;main;interpret;jit_major [0-9]+$'
fi

# Two plugins that are loaded at the same address one after the other keep their own names.
loader=$(target loader)
run 0 "$SONDE" record -q -o loader.sonde -- "$loader" 1.5 "$(target plugin_a.so)" "$(target plugin_b.so)"
a=$(share loader.sonde total_share plugin_a) b=$(share loader.sonde total_share plugin_b)
near "$a / ($a + $b) * 100" 70 5
holds "$a + $b > 80" "the rest is the loader's, and the kernel's that maps for it"
equal "$(rows loader.sonde functions | jq -r '[.[] | select(.function | startswith("plugin_")) |
	.function + " " + .module] | sort | join(", ")')" "plugin_a plugin_a.so, plugin_b plugin_b.so"
holds "$(metric loader.sonde samples.complete_percent) >= 97"
