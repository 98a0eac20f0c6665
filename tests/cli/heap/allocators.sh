# allocators.sh: programs with other allocators run as without sonde under each kind of recording: jemalloc, mimalloc
# and tcmalloc preloaded before and after sonde's object; AddressSanitizer, also around the recorder; redis; Chromium.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need timeout
threads=$(target odd_threads)
export CHROMIUM_DATA=$work/chromium

settings=("--no-perf" "--heap" "--heap=full" "--threads --io" "--blas" "--no-perf --heap=full --threads --io --blas")
tried=0

# same CODE COMMAND…: output, errors and exit code are the same under each of the settings. NOISY=1: errors differ
# from run to run anyway.
same() {
	local expected=$1 setting code=0
	shift
	timeout -k 1 60 "$@" >bare 2>bare.err </dev/null || code=$?
	[ "$code" -eq "$expected" ] || { echo "not tried: $* ends with $code here: $(head -n 1 bare.err)" >&2; return 0; }
	for setting in "${settings[@]}"; do
		code=0
		# shellcheck disable=SC2086
		timeout -k 1 90 "$SONDE" record -q --force -o a.sonde $setting -- "$@" >recorded 2>recorded.err </dev/null || code=$?
		[ "$code" -eq "$expected" ] || fail "$* with '$setting' ends with $code: $(head -n 3 recorded.err)"
		cmp -s bare recorded || fail "$* with '$setting' writes something else: $(diff bare recorded | head -n 5)"
		[ -n "${NOISY:-}" ] || cmp -s bare.err recorded.err || fail "$* with '$setting' complains: $(head -n 3 recorded.err)"
	done
	tried=$((tried + 1))
}

# preload LIBRARY first|last COMMAND…: adds the library to LD_PRELOAD before or after the existing entries.
cat >preload <<'END'
#!/bin/sh
library=$1 order=$2
shift 2
if [ "$order" = first ]; then
	LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}
else
	LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$library
fi
export LD_PRELOAD
exec "$@"
END
chmod +x preload

library() { # NAME: its path, as the loader's cache has it
	ldconfig -p 2>/dev/null | awk -v n="$1" 'index($1, n) == 1 && !seen++ { print $NF }'
}
PATH=$PATH:/sbin:/usr/sbin
for name in libjemalloc.so libmimalloc.so libtcmalloc_minimal.so libtcmalloc.so; do
	path=$(library "$name")
	[ -n "$path" ] || { echo "not tried: $name is not installed" >&2; continue; }
	for order in first last; do
		same 3 ./preload "$path" $order sh -c 'ls / | wc -l; exit 3'
	done
	same 0 ./preload "$path" last "$threads" crowd
done

# AddressSanitizer, in the program and in the recorder: it interposes functions that it cannot call yet.
asan=$(gcc -print-file-name=libasan.so 2>/dev/null || true)
[ -e "$asan" ] && asan=$(readlink -f "$asan") || asan=
if [ -n "$asan" ] && ! grep -q fsanitize "$SONDE_BUILD/compile_commands.json"; then
	export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
	same 3 ./preload "$asan" first sh -c 'ls / | wc -l; exit 3'
	unset ASAN_OPTIONS
	for setting in "${settings[@]}"; do
		code=0
		# shellcheck disable=SC2086
		LD_PRELOAD=$asan timeout -k 1 60 "$SONDE" record -q --force -o a.sonde $setting -- sh -c 'echo well; exit 3' \
			>recorded 2>recorded.err </dev/null || code=$?
		equal "$setting: $code $(cat recorded)" "$setting: 3 well"
	done
	tried=$((tried + 1))
else
	echo "not tried: no libasan.so, or a sanitized build" >&2
fi

command -v redis-benchmark >/dev/null && same 0 redis-benchmark --version
command -v redis-server >/dev/null && same 0 redis-server --version
settings=("--threads --io" "--no-perf --heap=full --threads --io --blas")
if command -v chromium >/dev/null; then
	cat >browse <<'END'
#!/bin/sh
rm -rf "$CHROMIUM_DATA"
exec chromium --no-sandbox --headless --disable-gpu --disable-quic --no-first-run --disable-background-networking \
	--disable-component-update --disable-sync --disable-dev-shm-usage --user-data-dir="$CHROMIUM_DATA" \
	--dump-dom 'data:text/html,<p id=a>hello</p>'
END
	chmod +x browse
	NOISY=1 same 0 ./browse
fi
[ $tried -gt 0 ] || skip "no allocator is installed"
echo "$tried programs tried" >&2
