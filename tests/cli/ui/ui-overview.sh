# ui-overview.sh: the overview in a browser: curves of CPU, memory and I/O, and the host it was recorded on; a
# program's RSS and written bytes equal `sonde report`.
# measures: times in the page
# timeout: 120
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
run 0 "$SONDE" record -q -o used.sonde -- sh -c 'i=0; while [ $i -lt 24 ]; do i=$((i + 1)); printf %0500000d 0; sleep 0.05; done >written'
[ "$(rows used.sonde resources | jq '[.[] | select(.process | test("^(/.*/)?(da)?sh( |$)")) | .readings] | total')" -ge 3 ] || skip "the shell was too short to be read thrice"
begin one used.sonde
ui_node overview.mjs "$SONDE" "$browser" "$work/used.sonde" "$(head -n 1 one.url)" "$(uname -r)"
