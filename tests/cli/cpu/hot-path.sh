# hot-path.sh: recording a zone or counter takes no lock, atomic instruction or call, and compiles to nothing when
# disabled.
# tier: quick
. "$(dirname "$0")/../lib.sh"
need gcc objdump
[ "$(uname -m)" = x86_64 ] || skip "knows the instructions of x86-64 only"

cat >hot.c <<'C'
#include <sonde/sonde.h>
void zone(void), next(void), counter(void);
void zone(void)
{
	SONDE_ZONE("zone");
}
void next(void)
{
	SONDE_ZONE_NEXT("next");
}
void counter(void)
{
	SONDE_COUNTER_ADD("counter", 2);
}
C
gcc -std=c99 -O2 -Wall -Werror -I"$repo/include" -c hot.c
objdump -dr --no-show-raw-insn hot.o >code
# Calls for exceptional cases are outside the function (NAME.cold).
for function in zone next counter; do
	awk -v f="<$function>:" '$2 == f { on = 1; next } /^$/ { on = 0 } on { print }' code >way
	grep -q xadd way || fail "$function records nothing: $(cat way)"
	grep -E '\<(lock|xchg|cmpxchg|mfence)\>' way && fail "$function locks"
	grep -E '\<(call|syscall)\>' way && fail "$function calls"
done
gcc -std=c99 -O2 -DSONDE_DISABLE -I"$repo/include" -c hot.c
objdump -d --no-show-raw-insn hot.o >code
equal "$(grep -cE '^[0-9a-f]+ <(zone|next|counter)>:$' code)" 3
equal "$(grep -c -E '\<(ret|nop[wl]?|endbr64|cs|data16)\>' code)" "$(grep -c $'^ .*:\t' code)"
