# dwarf: symbols of a module with a gigabyte of DWARF, looked up without a cache
source "$(dirname "$0")/lib.bash"

copies=$(n 64 4)
functions=$(n 8000 300)
figure="module with much DWARF, cold"
bar="≤ 5 s for 1 GB"
if [ "$(df --output=avail -B 1000000 "$work" | tail -n 1)" -lt "$(n 6000 500)" ]; then
	unavailable "$figure" "–" "$bar" "less than 6 GB free in ${work%/*} (BENCH_TMP names another place)"
	exit
fi

# One compilation unit with much debug information, linked many times under names of its own: debug information is per
# unit, so the module is as large as a program with that many units.
say "making the module"
awk -v functions="$functions" 'BEGIN {
	for (i = 0; i < functions; i++) {
		printf "struct s%d { int a%d; double b%d[4]; struct s%d *next; };\n", i, i, i, i
		printf "static inline double in%d(struct s%d *x, int k) { double t = x->b%d[k & 3] * k; return t + x->a%d; }\n", i, i, i, i
		printf "static double f%d(struct s%d *x, int n)\n{\n\tdouble sum = 0;\n\tfor (int k = 0; k < n; k++)\n\t\tsum += 0", i, i
		for (c = 0; c < 8; c++)
			printf "\n\t\t\t+ in%d(x, k * %d)", i, c
		printf ";\n\treturn sum;\n}\n"
		printf "double call%d(int n)\n{\n\tstruct s%d x = {n, {1, 2, 3, 4}, 0};\n\treturn f%d(&x, n);\n}\n", i, i, i
	}
	print "double entry(int n)\n{\n\tdouble sum = 0;"
	for (i = 0; i < functions; i += 10)
		printf "\tsum += call%d(n);\n", i
	print "\treturn sum;\n}"
}' >unit.c
gcc -O1 -g3 -fno-eliminate-unused-debug-types -c unit.c -o unit.o
{
	for ((i = 0; i < copies; i++)); do
		echo "double c${i}_entry(int);"
	done
	printf 'int main(void)\n{\n\tdouble sum = 0;\n\tfor (int k = 0; k < %s; k++) {\n' "$(n 60 3000)"
	for ((i = 0; i < copies; i++)); do
		printf '\t\tsum += c%d_entry(k + 20);\n' $i
	done
	printf '\t}\n\treturn sum == 1;\n}\n'
} >main.c
for ((i = 0; i < copies; i++)); do
	objcopy --prefix-symbols="c${i}_" unit.o "unit$i.o"
done
gcc -g main.c unit[0-9]*.o -o large -Wl,--build-id
size=$(size -A large | awk '/^\.debug_/ { sum += $2 } END { print sum / 1e9 }')
say "$size GB of DWARF"

"$SONDE" record -q -f -F 1000 --no-symbols -o large.sonde -- ./large >&2
for ((i = 0; i < $(n 3 1); i++)); do
	rm -rf "$XDG_CACHE_HOME"
	cost cold "$SONDE" report --section functions,lines large.sonde
	cost warm "$SONDE" report --section functions,lines large.sonde
done
cost_of cold wall | keep cold
cost_of warm wall | keep warm
cost_of cold rss | awk '{ print $1 / 1e6 }' | keep rss

anchor=–
if command -v addr2line >/dev/null; then
	nm large | awk '$3 ~ /_call[0-9]*0$/ { print $1 }' | shuf -n 100 --random-source=unit.c >addresses
	cost addr2line sh -c 'timeout 300 addr2line -i -f -e large <addresses' || true
	cost_of addr2line wall | keep addr2line
	anchor="addr2line, 100 addresses $(text addr2line s)"
fi
why="$(number "$size") GB of DWARF, $(metric large.sonde samples.count) samples; warm $(text warm s), peak $(text rss MB)"
judge "$figure" cold s "$anchor" "$bar" "<=" "$(calc "$size > 1 ? 5 * $size : 5")" "$why"
