# lib-strict.sh: the helpers of lib.sh fail on every missing figure: empty, null, NaN, n/a, a missing row, several
# values. In a test that measures in part, only a failed `measured` assertion ends the test with 75, which allows a
# second try.
. "$(dirname "$0")/../lib.sh"
need jq
lib=$repo/tests/cli/lib.sh

# passes COMMANDS and fails COMMANDS: run the commands as a test in a process of its own.
judged() {
	code=0
	printf '. "%s"\n%s\n' "$lib" "$1" >one.sh
	SONDE=$work/reports bash one.sh >one.out 2>&1 || code=$?
}
passes() {
	judged "$1"
	[ "$code" -eq 0 ] || fail "should pass: $1: $(cat one.out)"
}
fails() {
	judged "$1"
	[ "$code" -eq 1 ] || fail "should fail, ended with $code: $1: $(cat one.out)"
	[ -s one.out ] || fail "no reason: $1"
}

# Stands in for sonde: prints a report in which some figures are missing.
cat >reports <<'END'
#!/bin/bash
for word; do case $word in summary | functions | empty | none) section=$word ;; broken) exit 4 ;; esac done
case $section in
summary) rows='[{"metric":"one","value":1},{"metric":"absent","value":null,"absent":{"value":"no reading"}},
	{"metric":"unexplained","value":null},{"metric":"text","value":"n/a"},{"metric":"twice","value":1},{"metric":"twice","value":2}]' ;;
functions) rows='[{"function":"f","self_share":0.25},{"function":"f","self_share":0.5},{"function":"g","self_share":null}]' ;;
empty) rows='[]' ;;
none) rows=null ;;
esac
[ "$section" != summary ] || [ ! -s "${!#}" ] || rows="[{\"metric\":\"one\",\"value\":$(<"${!#}")}]"
echo "{\"sections\":[{\"rows\":$rows}]}"
END
chmod +x reports
echo '{"p":0.5,"none":null,"list":[],"rows":[{"x":1},{"x":2}],"partly":[{"x":1},{"x":null}]}' >figures.json

passes 'holds "1 < 2"; holds "-1e-9 <= 0 && (2 - -3) == 5 || 0"; holds "sqrt(4) == 2"; holds ".5 < 1/1"; holds "!(1 > 2)"'
passes 'near 3 3.05 0.1; near "1 + 2" 3 0; near -1 -1 0; near_time 1000 1100 0.05 x; equal "$(calc "int(7 / 2)")" 3'
for absent in "" null NaN nan n/a none inf "1 2" $'1\n2' "n" '""' "[]" "1 2 +"; do
	fails "holds '$absent <= 5'"
	fails "holds '5 >= $absent'"
	fails "holds '$absent - 1 <= 5'"
	fails "holds '$absent + 1 <= 5'"
	fails "holds '1 - $absent <= 5'"
	fails "holds '1 < 2 || $absent < 1'"
	fails "near '$absent' 0 1"
	fails "near 0 '$absent' 1"
	fails "near 0 0 '$absent'"
	fails "near_time '$absent' 0 0.05 x"
	fails "near_time 0 '$absent' 0.05 x"
	fails "is_so '$absent < 5' && exit 0; exit 0"
	fails "equal \"\$(calc '$absent * 2')\" \"\$(calc '$absent * 2')\""
done
fails 'holds "2 < 1"'
fails 'near 3 3.2 0.1'
fails 'calc "1 / 0"'
fails 'is_so "1 / 0 < 3" && exit 0; exit 1'

passes 'equal "$(metric a one)" 1; lacks_metric a absent; rows a empty >rows; equal "$(cat rows)" "[]"'
# Figures kept from a recording are not used for another recording of the same name.
passes 'for n in 1 20 30; do echo $n >a; equal "$(metric a one) $(metric a one)" "$n $n"; done'
passes 'echo 40 >old; echo 50 >a; equal "$(metric a one)" 50; mv old a; equal "$(metric a one)" 40; ! (metric a two) || exit 1; rm "$failed"'
for name in absent unexplained text twice missing; do
	fails "metric a $name"
	fails "holds \"\$(metric a $name) <= 5\""
	fails "equal \"\$(metric a $name)\" \"\$(metric a $name)\""
	fails "x=\$(metric a $name) || :; exit 0"
done
for name in one unexplained text twice missing; do
	fails "lacks_metric a $name"
done
fails 'rows a none'
fails 'rows a broken'
fails 'equal "$(rows a none)" "$(rows a none)"'
fails 'equal "$(rows a broken | jq length)" ""'

passes 'equal "$(share a self_share f)" 75; equal "$(share a self_share missing 0)" 0'
fails 'share a self_share missing'
fails 'share a self_share g 0'
fails 'holds "$(share a self_share missing) < 5"'
fails 'holds "$(share a no_such_column missing) < 5"'
fails 'share a no_such_column f 0'

here="$work/figures.json"
passes "equal \"\$(jq '[.rows[].x] | total' $here)\" 3; equal \"\$(jq '.list | total' $here)\" 0"
fails "equal \"\$(jq '[.partly[].x] | total' $here)\" 1"
passes "holds_in $here '.p < 1 and .p > 0'; holds_in $here '.none == null'; holds_in $here '(.p | figure) < 1'; holds_in $here '.rows[].x > 0'"
for expression in '.p < 1' '.none < 1' '.missing < 1' '.p != 3' 'all(.list[]; .x == 1)' '.list[]' 'all(.partly[]; .x < 5)' '.p > 1' '.rows[].x > 1' \
	'.p' 'empty' '(.none | figure) < 1' '.p > 0 or .none == 1' '.p ==' '.missing == 1'; do
	fails "holds_in $here '$expression'"
done
fails 'equal "$(echo null | jq ".[] | .x")" ""'
fails 'equal "$(echo "{" | jq .)" "$(echo "{" | jq .)"'
fails 'has "some words" ""'
fails 'lacks "some words" ""'
fails 'matches "some words" ""'
fails 'equal 1 2'
passes 'echo "four" >a; fits 4 a; fits 80 a'
fails 'echo "fives" >a; fits 4 a'
fails ': >a; fits 80 a'
fails 'fits 80 missing'
fails '(fail inside) || :; echo more'

# misses COMMANDS: a measured figure is wrong, everything else is right.
misses() {
	judged "$1"
	[ "$code" -eq 75 ] || fail "should end with 75, ended with $code: $1: $(cat one.out)"
	grep -q "all but what it measured is right: ." one.out || fail "no reason: $1"
}
passes 'measured holds "1 < 2"; measured near 3 3.05 0.1; measured true; equal 1 1'
misses 'measured holds "2 < 1"'
misses 'measured near 3 3.2 0.1; measured holds "1 < 2"; equal 1 1'
misses 'measured holds "2 < 1"; measured run 0 false; equal 1 1'
misses 'measured false; skip "no more to do"'
misses 'slow() { equal "$(fail inside)" ""; }; measured slow'
fails 'measured holds "2 < 1"; equal 1 2'
fails 'measured holds "2 < 1"; run 0 false'
fails 'measured holds "2 < 1"; false'
fails 'equal 1 2; measured holds "2 < 1"'
fails 'measured holds "$(metric a absent) < 1"; exit 0'
fails 'measured holds "$(metric a absent) < 1 || 1 > 0"; measured true'
judged 'measured skip "not here"'
equal "$code" 77
