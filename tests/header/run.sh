#!/bin/bash
# run.sh: compiles use.c against the public header as C99, C11, C17, C++11 and C++17, links it with the library and runs
# it; disabled, it must compile to nothing; a pair of events must stay within 32 instructions. Usage: run.sh LIBDIR
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
include=$here/../../include
lib=$(readlink -f "${1:?directory of libsonde.so}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
	echo "FAIL: $*"
	failed=1
}

text_b() { # size of a function in an object
	nm -S --defined-only "$1" | awk -v name="$2" '$4 ~ "^(_Z[0-9]+)?" name "i?$" { print $2 }'
}

for compiler in gcc clang; do
	command -v "$compiler" > /dev/null || continue
	for standard in c99 c11 gnu17 c++11 c++17; do
		driver=$compiler language=c
		case $standard in
		c++*) driver=${compiler/gcc/g++} language=c++; [ "$compiler" = clang ] && driver=clang++ ;;
		esac
		command -v "$driver" > /dev/null || continue
		flags=(-x "$language" -std="$standard" -O2 -Wall -Wextra -Wshadow -Wconversion -Wpedantic -Werror "-I$include")
		"$driver" "${flags[@]}" -c "$here/use.c" -o "$work/on.o" || fail "$driver $standard"
		"$driver" "$work/on.o" -L"$lib" -lsonde -Wl,-rpath,"$lib" -o "$work/on" && "$work/on" || fail "$driver $standard: run"
		"$driver" "${flags[@]}" -DSONDE_DISABLE -c "$here/use.c" -o "$work/off.o" || fail "$driver $standard disabled"
		if nm "$work/off.o" | grep -q sonde; then
			fail "$driver $standard: disabled, but symbols are left"
		fi
		[ "$(text_b "$work/off.o" used)" = "$(text_b "$work/off.o" plain)" ] || fail "$driver $standard: disabled, but code is left"
	done
	if command -v objdump > /dev/null && [ "$(uname -m)" = x86_64 ]; then
		printf '#include <sonde/sonde.h>\nvoid pair(void);\nvoid pair(void)\n{\n\tSONDE_BEGIN("x");\n\tSONDE_END();\n}\n' |
			"$compiler" -x c -O2 "-I$include" -c -o "$work/pair.o" -
		# The straight way to the return, without the frame of the function itself.
		count=$(objdump -d --no-show-raw-insn "$work/pair.o" | awk '/<pair>:/ { on = 1; next }
			on && /\t(push|pop|ret|nop|endbr64)/ { if (/ret/) exit; next } on && /:\t/ { n++ } END { print n }')
		[ "$count" -le 32 ] || fail "$compiler: a pair is $count instructions"
		echo "$compiler: a pair is $count instructions"
	fi
done
if command -v g++ > /dev/null; then
	g++ -O2 "-I$include" "$here/throw.cc" -L"$lib" -lsonde -Wl,-rpath,"$lib" -o "$work/throw"
	"$work/throw" "$work/throw.sonde" || fail "exceptions: $?"
fi
exit $failed
