# findings-unseen.sh: recordings of programs that no rule was tuned on (tests/findings/unseen): the number whose first
# finding is the known defect is at least the committed score, and well-made programs get no critical finding. The
# recordings with another first finding are listed in unseen.tsv.
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/findings-lib.sh"
need jq

judged=0 right=0
: >bad
cp "$repo"/tests/findings/unseen/*.sonde .
while IFS=$'\t' read -r name _ expected also where limiter known; do
	[[ $name != '#'* ]] && [ -e "$name.sonde" ] || continue
	noise=
	said=$(wrong "$name.sonde" "$expected" "$also" "$limiter" "$where"; [ -z "$noise" ] || echo "$noise;")
	judged=$((judged + 1))
	[ -n "$said" ] || right=$((right + 1))
	if [ -n "$said" ] && [ "$known" = - ]; then
		printf '%s: %s\n' "$name" "${said//$'\n'/ }" | tee -a bad
	elif [ -z "$said" ] && [ "$known" != - ]; then
		echo "$name is right now: say so in unseen.tsv" | tee -a bad
	fi
	printf '  %-16s %-27s %s\n' "$name" "$expected" "$(head -n 1 "$name.sonde.found" | cut -f 1-4)"
	rm "$name.sonde"
done <"$repo/tests/findings/unseen/unseen.tsv"
equal "$(ls ./*.sonde 2>/dev/null)" ""
echo "$right of $judged are right"
[ ! -s bad ] || fail "told otherwise than before: $(cat bad)"
holds "$judged >= 12"
