# findings-examples.sh: each program of examples/ is told first what is known to be wrong with it, nothing critical is said
# that is not known of it, and nothing critical at all of those that are well made. Prints a confusion matrix.
# timeout: 240
. "$(dirname "$0")/lib.sh"
need jq

examples=$SONDE_BUILD/examples
python=/usr/bin/python3
[ -x "$examples/duplicates" ] || skip "examples are not built (sanitizers)"
"$SONDE" record --help >.help

# command NAME: how to run it, or nothing; and why not, in the file .why.
command_of() {
	if [ -x "$examples/$1" ]; then
		echo "$examples/$1"
	elif [ ! -f "$repo/examples/$1.py" ]; then
		echo "it is not built: its library is not installed" >.why
	elif [ ! -x $python ]; then
		echo "$python is not installed" >.why
	elif grep -q '^import numpy' "$repo/examples/$1.py" && ! $python -c 'import numpy' 2>/dev/null; then
		echo "numpy is not installed" >.why
	else
		echo "$python $repo/examples/$1.py"
	fi
}

# Ceilings of this machine, by which some are judged.
measured=
"$SONDE" roofline --measure >.roof 2>&1 && measured=1

# Those that use OpenCL end with 77 where there is no device of it.
opencl="libsonde-opencl.so is not built"
if [ -x "$examples/tiny_kernels" ] && [ -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ]; then
	opencl=
	timeout 60 "$examples/tiny_kernels" fixed >/dev/null 2>&1 || { [ $? -ne 77 ] || opencl="no OpenCL device (package pocl-opencl-icd)"; }
fi

# What the machine's processors, and those of this test, worked so far, in ticks.
machine_ticks() {
	awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 + $9 }' /proc/stat
}
own_ticks() {
	awk '{ print $14 + $15 + $16 + $17 }' /proc/$$/stat
}

# judge NAME OPTIONS: findings of a recording, a line each: rule, severity, subject, limiter; and in $others, what share of the
# processors others had meanwhile.
judge() {
	local options=() command machine own begin=$EPOCHREALTIME
	[ "$2" = - ] || read -ra options <<<"$2"
	read -ra command <<<"$(command_of "$1")"
	machine=$(machine_ticks) own=$(own_ticks)
	run 0 timeout 60 "$SONDE" record -q --force "${options[@]}" -o "$1.sonde" -- "${command[@]}"
	machine=$(($(machine_ticks) - machine)) own=$(($(own_ticks) - own))
	others=$(awk -v work=$((machine - own)) -v begin="$begin" -v end="$EPOCHREALTIME" -v ticks="$(getconf CLK_TCK)" \
		-v cpus="$(nproc)" 'BEGIN { print work / ((end - begin) * ticks * cpus) }')
	rows "$1.sonde" findings >.findings
	jq -r '.[] | [.rule, .severity, .subject // "", .limiter] | @tsv' .findings >"$1.found"
}

# wrong NAME EXPECTED ALSO LIMITER WHERE: what is wrong with what was found; nothing when all is right.
wrong() {
	local first place limits
	first=$(head -n 1 "$1.found" | cut -f 1)
	place=$(head -n 1 "$1.found" | cut -f 3)
	limits=$(head -n 1 "$1.found" | cut -f 4)
	[ "$4" = - ] || [[ $limits == *"$4"* ]] || echo "limited by ${limits:-nothing}, instead of $4;"
	[ "$2" = - ] || [[ "|$2|" == *"|${first:-nothing}|"* ]] || echo "${first:-nothing} comes first, instead of $2;"
	[ "$5" = - ] || grep -qE -- "$5" <<<"$place" || echo "it is about '$place', instead of $5;"
	awk -F '\t' -v expected="|$2|$3|" '
		$2 == "critical" && !index(expected, "|" $1 "|") { print "critical: " $1 " (" $3 ");" }' "$1.found"
}

# What came first; of a well-made program only something critical counts.
first_of() {
	if [ "$2" = - ]; then
		awk -F '\t' '$2 == "critical" { print $1; found = 1; exit } END { if (!found) print "-" }' "$1.found"
	else
		awk -F '\t' 'NR == 1 { print $1 } END { if (!NR) print "-" }' "$1.found"
	fi
}

# Reads rows of examples.tsv and judges their programs; rows of those that were judged wrongly go to .again.
skipped=()
judge_all() {
	local name threads options expected also where limiter fix said
	: >.again
	while IFS=$'\t' read -r name threads options expected also where limiter fix; do
		[ "${name:0:1}" != '#' ] || continue
		: >.why
		if [ -z "$(command_of "$name")" ]; then
			skipped+=("$name: $(cat .why)")
			continue
		elif [[ $options == *--blas* ]] && ! grep -q -- --blas .help; then
			skipped+=("$name: this sonde does not record --blas")
			continue
		elif [[ $options == *--gpu* ]] && [ -n "$opencl" ]; then
			skipped+=("$name: $opencl")
			continue
		elif [[ $expected =~ roof|memory-bound ]] && [ -z "$measured" ]; then
			skipped+=("$name: the machine's ceilings are not measured")
			continue
		fi
		judge "$name" "$options"
		[ "$expected" = false-sharing ] && "$SONDE" advise "$name.sonde" | grep 'instructions cannot be decoded' >.undecoded &&
			expected="$expected|hot-function"
		said=$(wrong "$name" "$expected" "$also" "$limiter" "$where")
		printf '%s\t%s\n' "$expected" "$(first_of "$name" "$expected")" >"$name.matrix"
		printf '%s\t%s\t%s\n' "$name" "$expected" "$(head -n 1 "$name.found")" >"$name.table"
		[ -z "$said" ] && continue
		if [[ $said != *critical:* ]] && awk -v others="$others" 'BEGIN { exit !(others > 0.1) }'; then
			printf '%s\t%s\n' "$name" "${said//$'\n'/ }" >>.disturbed
		else
			printf '%s: %s\n' "$name" "${said//$'\n'/ }" >>.bad
		fi
		printf '%s\t' "$name" "$threads" "$options" "$expected" "$also" "$where" "$limiter" >>.again
		printf '%s\n' "$fix" >>.again
	done
}

# Others may use the machine meanwhile: those that were judged wrongly are recorded again after all the others, twice. Who
# had less than nine tenths of the processors then, too, is not judged, and named.
cp "$repo/examples/examples.tsv" .again
for ((pass = 0; pass < 3 && SECONDS < 150; pass++)); do
	[ $pass -eq 0 ] || sed 's/^/again: /' .bad .disturbed
	: >.bad
	: >.disturbed
	mv .again .these
	judge_all <.these
	[ -s .again ] || break
done
while IFS=$'\t' read -r name said; do
	rm "$name.matrix" "$name.table"
	skipped+=("$name: others had the processors each time: $said")
done <.disturbed
judged=$(cat ./*.matrix | wc -l) bad=$(wc -l <.bad)

echo "what each program is to be told, and what came first:"
awk -F '\t' '{ printf "  %-16s %-27s %-18s %-9s %s\n", $1, $2, $3, $4, $5 }' ./*.table
echo
echo "expected (rows) and found first (columns); -: nothing critical"
awk -F '\t' '
	{
		split($1, names, "|")
		row = names[1]
		for (i in names)
			if (names[i] == $2)
				row = $2
		count[row, $2]++
		seen[row]
		seen[$2]
	}
	END {
		for (rule in seen)
			order[++n] = rule
		for (i = 2; i <= n; i++)
			for (k = i; k > 1 && order[k - 1] > order[k]; k--) {
				rule = order[k]
				order[k] = order[k - 1]
				order[k - 1] = rule
			}
		printf "%22s", ""
		for (k = 1; k <= n; k++) printf "%3d", k
		print ""
		for (i = 1; i <= n; i++) {
			printf "  %2d %-17s", i, order[i]
			for (k = 1; k <= n; k++) printf "%3s", (order[i], order[k]) in count ? count[order[i], order[k]] : "."
			print ""
		}
	}' ./*.matrix
echo
echo "$judged judged, $bad wrong, ${#skipped[@]} skipped"
[ ${#skipped[@]} -eq 0 ] || printf '  skipped: %s\n' "${skipped[@]}"
[ $bad -eq 0 ] || { cat .bad >&2; : >.out; : >.err; fail "$bad of $judged programs are told something else"; }
[ "$judged" -ge 20 ] || fail "only $judged programs were judged"
