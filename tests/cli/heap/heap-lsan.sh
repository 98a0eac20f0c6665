# heap-lsan.sh: LeakSanitizer finds the same unreachable blocks as sonde in the same program.
. "$(dirname "$0")/../lib.sh"
need jq gcc
leaks=$(target leaks)

cat >lost.c <<<'#include <stdlib.h>
int main(void) { void *volatile gone = malloc(10); gone = NULL; return gone != NULL; }'
code=0
{ gcc -g -fsanitize=leak lost.c -o lost && ./lost; } >lsan.out 2>lsan.err || code=$?
[ "$code" -eq 23 ] || skip "LeakSanitizer does not work here: $(tail -n 1 lsan.err)"
gcc -O2 -g -fomit-frame-pointer -fsanitize=leak -pthread "$repo/tests/targets/leaks.c" -o lsan
code=0
./lsan known >lsan.out 2>lsan.err || code=$?
equal "$code" 23

# of FUNCTION: unreachable blocks and bytes; said FUNCTION: the same in LeakSanitizer's report
of() {
	rows a.sonde leaks | jq -r --arg f "$1" '[.[] | select(.class == "unreachable" and .function == $f)] |
		"\(map(.blocks) | total) \(map(.bytes) | total)"'
}
said() {
	awk -v f="$1" '/^(Direct|Indirect) leak/ { b = $4; n = $7 } $1 == "#1" { if ($4 == f) { blocks += n; bytes += b } }
		END { print blocks + 0, bytes + 0 }' lsan.err
}
run 5 "$SONDE" record -q --heap=full -o a.sonde -- "$leaks" known
for function in direct heads links ring past; do
	equal "$(of $function)" "$(said $function)"
	holds "$(said $function | cut -d ' ' -f 1) > 0" "$function"
done
has "$(cat lsan.err)" "$(rows a.sonde leaks | jq -r '[.[] | select(.class == "unreachable")] |
	"SUMMARY: LeakSanitizer: \([.[].bytes] | total) byte(s) leaked in \([.[].blocks] | total) allocation(s)"')"
