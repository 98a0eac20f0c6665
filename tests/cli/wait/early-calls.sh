# early-calls.sh: every function that an injected object interposes, every public function of libsonde, and what NVTX,
# OpenCL and CUDA call may be called before main(), and under an allocator's lock where the interface allows it: hooks
# never call the dynamic loader, allocate or wait, and output and exit code are as without sonde.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need nm timeout
early=$(target early)
calls=$repo/tests/targets/early_calls.def
libraries=$SONDE_BUILD/tests/targets

# The list is complete: it has every name that both the objects and the C library export.
libc=$(ldd "$early" | awk '$1 ~ /^libc\.so/ { print $3 }')
[ -n "$libc" ] || skip "no libc.so here"
nm -D --defined-only "$libc" | awk '$3 ~ /@@/ { sub(/@.*/, "", $3); print $3 }' | sort -u >in_libc
[ -s in_libc ] || skip "$libc has no versions"
for object in cpu heap waits blas; do
	nm -D --defined-only "$SONDE_BUILD/src/inject/libsonde-$object.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }'
done | sort -u >exported
comm -12 exported in_libc >interposed
sed -nE 's/^(UNDER|LATER|OUTSIDE|ENDS)\(([A-Za-z0-9_]+),.*/\2/p' "$calls" | sort -u >called
[ "$(wc -l <interposed)" -gt 100 ] || fail "only $(wc -l <interposed) functions are interposed"
equal "$(comm -23 interposed called)" ""

# So is the list of libsonde's functions. InitializeInjection…() and cl…Layer…() are called by early_devices.
nm -D --defined-only "$SONDE_BUILD/src/runtime/libsonde.so" | awk '$3 ~ /^sonde_/ { print $3 }' | sort -u >public
[ "$(wc -l <public)" -gt 50 ] || fail "libsonde exports only $(wc -l <public) functions"
sed -nE 's/^(UNDER|LATER|OUTSIDE)\(([A-Za-z0-9_]+),.*/\2/p' "$repo/tests/targets/early_api.def" | sort -u >called
equal "$(comm -3 public called)" ""

# Interposed names that are not the C library's: C++ operators and BLAS routines. The program below, which calls them,
# prints how many. free_sized() and free_aligned_sized() are C23's, and cfree() is old: this C library has none of them
# for new programs.
comm -23 exported in_libc | grep -v -x -E 'free_(aligned_)?sized|cfree' >others
operators=$(grep -c '^_Z' others) routines=$(grep -vcE '^(_Z|sonde_)' others)
# The first two are called, too; the third by the hook of mmap().
equal "$(grep '^sonde_' others | tr '\n' ' ')" "sonde_alloc sonde_free sonde_heap_mmap "

# Alone, then under each kind of recording.
settings=("" "--no-perf" "--heap" "--heap=full" "--threads" "--io" "--blas" "--no-perf --heap=full --threads --io --blas")
check() { # NAME COMMAND…: under each of the settings
	local name=$1 setting code=0
	shift
	timeout 60 "$@" >bare 2>bare.err </dev/null || code=$?
	equal "$name: $code" "$name: 3"
	[ ! -s bare.err ] || fail "$name writes: $(head -n 3 bare.err)"
	for setting in "${settings[@]}"; do
		code=0
		# shellcheck disable=SC2086
		timeout -k 1 60 "$SONDE" record -q --force -o a.sonde $setting -- "$@" >recorded 2>recorded.err </dev/null || code=$?
		[ "$code" -eq 3 ] || fail "$name with '$setting' ends with $code: $(head -n 3 recorded.err)"
		cmp -s bare recorded || fail "$name with '$setting' differs: $(diff bare recorded | head -n 5)"
		[ ! -s recorded.err ] || fail "$name with '$setting' writes: $(head -n 3 recorded.err)"
	done
}

check "without an allocator" "$early"
check "allocator in the program" "$libraries/early_own"
check "allocator in a library" "$libraries/early_linked"
cat >preloaded <<END
#!/bin/sh
LD_PRELOAD=\${LD_PRELOAD:+\$LD_PRELOAD:}$libraries/libearly_allocator.so exec $early 8
END
cat >preloaded_first <<END
#!/bin/sh
LD_PRELOAD=$libraries/libearly_allocator.so\${LD_PRELOAD:+:\$LD_PRELOAD} exec $early
END
chmod +x preloaded preloaded_first
check "allocator preloaded behind us" ./preloaded
check "allocator preloaded before us" ./preloaded_first

if [ -x "$SONDE_BUILD/tests/targets/early_names" ]; then
	"$SONDE_BUILD/tests/targets/early_names" >names || equal $? 3
	equal "$(grep -c ": operators $operators, routines $routines, faults 0$" names)" 12
	check "operators and routines" "$SONDE_BUILD/tests/targets/early_names"
fi

# Other calls, without and with an allocator in the program.
[ -x "$libraries/early_api" ] || skip "without sanitizers only: libsonde, devices and operators"
for suffix in "" _own; do
	settings=("" "--no-perf" "--heap=full --threads --io" "--on-full block --buffer 1M")
	check "public functions$suffix" "$libraries/early_api$suffix"
	settings=("--heap" "--no-perf --heap=full --threads --io --blas")
	check "operators of a library$suffix" "$libraries/early_new$suffix"
	settings=("" "--gpu=kernels" "--gpu=full --no-perf --heap=full --threads --io")
	check "devices$suffix" "$libraries/early_devices$suffix"
done

# These calls were made: by the copies of the program and of its library.
EARLY_COUNTS=1 "$SONDE" record -q --force -o a.sonde --gpu=full -- "$libraries/early_devices" >counts || equal $? 3
nvtx=$(grep -c '^    ROW(NVTX_' "$repo/src/inject/nvtx/entry.c") times=$(grep -c '^nvtx' counts)
[ "$times" -gt 5 ] || fail "devices are called $times times"
equal "$(grep -cx "nvtx $nvtx" counts) $(grep -cx "cuda 1" counts)" "$times $times"
[ ! -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ] || equal "$(grep -cE '^opencl [1-9]' counts)" "$times"
