# measure-again.sh: the command that a finding suggests for measuring again runs the recorded command, whatever
# characters its words contain.
. "$(dirname "$0")/../lib.sh"
need jq
cat >"it's.sh" <<'END'
printf '<%s>' "$@" >"$OUT"
exec "$HOT" 0.3
END
export HOT
HOT=$(target split)
OUT=first run 0 "$SONDE" record -q -o first.sonde -- sh "it's.sh" "a  b" '$HOME `id` \' '' '*' "it's" $'two\nlines' 'ü;&|'
run 0 "$SONDE" report -q --json --section findings first.sonde
again=$(jq -r '.sections[0].rows[0].measure_again' .out)
matches "$again" "^sonde record .*-- sh 'it'"
mkdir bin
ln -s "$SONDE" bin/sonde
mkdir there && cp "it's.sh" there
(cd there && PATH=$work/bin:$PATH OUT=../second sh -c "$again") >.said 2>&1 || fail "it does not run: $again: $(cat .said)"
equal "$(cat second)" "$(cat first)"
ls there/*.sonde >/dev/null || fail "it recorded nothing"
