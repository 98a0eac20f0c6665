# advice: predictions of sonde advise for programs with a known fix, against the measured gain of the fix
source "$(dirname "$0")/lib.bash"

# There are two predictions: the estimate T / (T - f), and the bound, which is all time within the surrounding function.
# Both are taken from the first finding, as the median over some recordings of `slow`. The measured gain is the median
# of wall time slow ÷ fixed, over interleaved rounds.
rounds=$(n 9 5)
recordings=$(n 3 1)
examples=$programs/../examples
python=/usr/bin/python3
: >held.tsv

command_of() {
	if [ -x "$examples/$1" ]; then
		echo "$examples/$1"
	elif [ -f "$repo/examples/$1.py" ]; then
		echo "$python $repo/examples/$1.py"
	fi
}

# Ceilings of this machine, on which some findings depend.
"$SONDE" roofline --measure >&2 || true

# predict NAME OPTIONS: keeps the shares of the span that the first finding estimates as savings, and as the most that
# could be saved; its rule is in NAME.rule.
predict() {
	local options=() command
	[ "$2" = - ] || read -ra options <<<"$2"
	read -ra command <<<"$(command_of "$1")"
	timeout 60 "$SONDE" record -q --force "${options[@]}" -o a.sonde -- "${command[@]}" slow >&2 </dev/null
	"$SONDE" advise --json a.sonde >advice.json
	jq '[.sections[] | select(.id == "findings") | .rows[]][0]' advice.json >first.json
	jq -r '.rule // "nothing"' first.json >"$1.rule"
	jq -r '.saves_share // empty' first.json | keep "$1.share"
	jq -r '.at_most_share // empty' first.json | keep "$1.most"
}

speedup() {
	awk -v s="$1" 'BEGIN { if (s < 1 - 1e-9) printf "%.3g", 1 / (1 - s); else print "∞" }'
}

while IFS=$'\t' read -r name threads options expected also where limiter fix; do
	[ "${name:0:1}" != '#' ] && [ "$fix" != - ] || continue
	read -ra command <<<"$(command_of "$name")"
	if [ ${#command[@]} -eq 0 ] || ! "${command[@]}" fixed >/dev/null 2>&1 </dev/null; then
		info "$name: $fix" "$name" "" "–" "cannot be run here"
		continue
	fi
	say "$name, $rounds rounds"
	for ((round = 0; round < rounds; round++)); do
		for which in $([ $((round % 2)) = 0 ] && echo slow fixed || echo fixed slow); do
			cost "$name.$which" "${command[@]}" "$which"
		done
		[ $round -ge "$recordings" ] || predict "$name" "$options"
	done
	paired "$name" "$name.slow" "$name.fixed" wall 'a / b'
	promised="no time is promised"
	if has "$name.share"; then
		share=$(median "$name.share") most=$(median "$name.most")
		promised="× $(speedup "$share"), at most × $(speedup "$most")"
		awk -v realised="$(median "$name")" -v share="$share" -v most="$most" 'BEGIN {
			bound = most > 1 - 1e-9 || realised <= 1.02 / (1 - most)
			estimate = share > 1 - 1e-9 || realised <= 1.02 / (1 - share)
			half = 1 - 1 / realised >= share / 2
			print bound + 0, half + 0, estimate + 0
		}' >>held.tsv
	fi
	info "$name: $fix" "$name" "×" "$promised" "$(cat "$name.rule")"
done <"$repo/examples/examples.tsv"

count=$(wc -l <held.tsv)
awk '{ bound += $1; half += $2; estimate += $3 }
	END { if (NR) { print 100 * bound / NR >"bound"; print 100 * half / NR >"half"; print 100 * estimate / NR >"estimate" } }' held.tsv
for share in bound half estimate; do
	[ ! -f $share ] || keep $share <$share
done
judge "$count fixes: the speed-up is at most the bound (2 % more is allowed)" bound % "–" "≥ 95 %" ">=" 95
judge "$count fixes: at least half of the time that was estimated is saved" half % "–" "≥ 70 %" ">=" 70
info "$count fixes: the speed-up is at most the estimate (2 % more is allowed)" estimate % "–" ""
