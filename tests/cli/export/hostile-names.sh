# hostile-names.sh: hostile names of functions, files, processes, threads, zones, INFO values and everything else that
# a recording names produce no markup, link, escape sequence or formula, in any format and section. Markdown is also
# rendered.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need python3
hostile=$(target hostile)
waits=$(target waits)

# pair FORMAT BENIGN HOSTILE HOW…: two outputs, which are all checked in the end.
checks=0
pair() {
	mv "$2" out/$checks.benign
	mv "$3" out/$checks.hostile
	printf '%s\tout/%s.benign\tout/%s.hostile\t%s\n' "$1" $checks $checks "${*:4}" >>list
	checks=$((checks + 1))
}
mkdir out

# check FORMAT WAY…: both recordings give the same output; what is unavailable in one is unavailable in the other.
check() {
	local format=$1 benign=0 bad=0
	shift
	"$SONDE" "$@" -o - good.sonde >benign 2>.err || benign=$?
	"$SONDE" "$@" -o - bad.sonde >hostile 2>.err || bad=$?
	[ "$benign" -eq "$bad" ] || fail "exit code $bad instead of $benign: $*"
	LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' .err && fail "a control character in a message: $*"
	[ "$benign" -eq 0 ] || return 0
	pair "$format" benign hostile "$* of $file"
}

run 0 "$SONDE" record -q --threads --io --heap -o live.sonde -- "$waits" convoy 3
for file in live.sonde "$repo"/tests/golden/*.sonde; do
	case $file in */raw.sonde) continue ;; esac
	cp "$file" good.sonde
	"$hostile" good.sonde bad.sonde
	for format in $(grep -o '^SONDE_FORMAT([a-z]*' "$repo/src/export/formats.def" | cut -d'(' -f2); do
		case $format in
		text | json | csv | md | openmetrics | advice) check "$format" report -q -f "$format" --section all ;;
		*) check "$format" export -q -f "$format" ;;
		esac
	done
done
holds "$checks >= 60"

# Comparisons of two recordings, and query results.
cp live.sonde good.sonde
"$hostile" good.sonde bad.sonde
for format in text md csv; do
	run 0 "$SONDE" diff --force -f $format good.sonde good.sonde
	cp .out benign
	for first in bad good; do # the warning about different hosts is in bold
		[ $first.$format != good.md ] || continue
		run 0 "$SONDE" diff --force -f $format $first.sonde bad.sonde
		[ -s benign ] && [ -s .out ] || fail "diff -f $format says nothing"
		cp benign again
		pair $format again .out diff -f $format $first.sonde
	done
done
if "$SONDE" query -q good.sonde 'SELECT 1' >.one 2>.err; then
	for format in csv text; do
		run 0 "$SONDE" query -q -f $format good.sonde 'SELECT * FROM threads'
		cp .out benign
		run 0 "$SONDE" query -q -f $format bad.sonde 'SELECT * FROM threads'
		[ "$(wc -l <.out)" -gt 1 ] || fail "query -f $format has no rows"
		pair $format benign .out query -f $format
	done
else
	has "$(<.err)" SQLite
fi
python3 "$repo/tests/cli/hostile_names.py" list || fail "names that did something, in the $(wc -l <list) outputs"
