# blas.sh: BLAS and LAPACK calls of unmodified programs are counted: calls, FLOP and bytes; nothing else changes.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
fake=$(target blas_fake.so)
names=$(target blas_names)

# flop FILE ZONE COLUMN: from the section flop
flop() {
	rows "$1" flop | jq -r --arg z "$2" --arg c "$3" '[.[] | select(.zone == $z)] | .[0][$c] // "absent"'
}
# whole FILE ZONE CALLS FLOP BYTES
whole() {
	equal "$2: $(flop "$1" "$2" calls) $(flop "$1" "$2" flop) $(flop "$1" "$2" bytes)" "$2: $3 $4 $5"
}
# same FILE PROGRAM…: the same output with and without sonde
same() {
	local file=$1 expected
	shift
	expected=$("$@" 2>&1)
	run 0 "$SONDE" record --blas -q -o "$file" -- "$@"
	equal "$out" "$expected"
}

# every name leads to the function of that name, with all its arguments, wherever the library is loaded
for where in local global; do
	run 0 "$SONDE" record --blas -q -o "names-$where.sonde" -- "$names" "$fake" $where
	has "$out" "1248 names called, 0 faults"
	equal "$(rows names-$where.sonde flop | jq '[.[] | select(.zone | startswith("(") | not) | .calls] | add')" 1248
done
# an unresolved name ends the program, as it does without sonde
run 127 "$SONDE" record --blas -q -o nowhere.sonde -- "$names" "$fake" none
has "$err" "undefined symbol: sgemm_"

# messages if there is nothing to record
run 0 "$SONDE" record --blas -q -o none.sonde -- true
lacks_metric none.sonde compute.estimated_flops
run 0 "$SONDE" report --section flop none.sonde
has "$out" "no FLOP or bytes were counted: use sonde record --blas"
run 125 "$SONDE" record --blas --no-inject -q -o no.sonde -- true
has "$err" "leave --no-inject out"
run 125 "$SONDE" record --blas -q -o no.sonde -p $$
has "$err" "--blas needs a command"

known=$(target blas_known)

# known FILE: 3 dgemm under each name, and one call of each other function; a query for a workspace size is not a call
known() {
	whole "$1" dgemm 6 720000 225600
	whole "$1" ssyrk 1 82000 11280
	whole "$1" zgemm 1 5760 5024
	whole "$1" dtrsm 1 2400 3600
	whole "$1" dgemv 1 2400 10160
	whole "$1" ddot 1 2000 16000
	whole "$1" dpotrf 1 2870 3360
	whole "$1" dgesv 1 6710 7040
	whole "$1" dgeqrf 1 11560 6400
	whole "$1" "(all library calls)" 14 835700 288464
	equal "$(flop "$1" dgemm commonest_size)" "m=30 n=40 k=50"
	equal "$(flop "$1" dgemm commonest_size_share)" 1
	equal "$(flop "$1" dgemm flop_per_call_median)" 120000
	equal "$(flop "$1" dgemm counted_by)" "library call"
	near "$(flop "$1" dgemm flop_per_byte)" 3.1914 0.0001
	equal "$(metric "$1" compute.estimated_flops)" 835700
	holds "$(metric "$1" compute.flops_per_second) * $(metric "$1" timing.wall_time_s) > 835000"
	equal "$(metric "$1" lost.count)" 0
}
same known.sonde "$known"
known known.sonde
run 0 "$SONDE" report --section flop known.sonde
has "$out" "of sampled CPU time"
has "$out" "bytes are modelled"
# as zones they appear in everything that has zones
run 0 "$SONDE" query -f csv known.sonde "SELECT count(*) FROM zones WHERE zone = 'dgemm'"
has "$out" 6
run 0 "$SONDE" export -f chrome -o known.json known.sonde
holds_in known.json '[.traceEvents[] | select(.name == "dgemm" and .args.size == "m=30 n=40 k=50")] | length == 6'

# 64-bit integers, threads, a forked child, failed calls, many tiny calls
if [ -x "$SONDE_BUILD/tests/targets/blas_known64" ]; then
	same known64.sonde "$SONDE_BUILD/tests/targets/blas_known64"
	known known64.sonde
fi
same threads.sonde "$known" 25 threads
whole threads.sonde dgemm 200 24000000 7520000
same forked.sonde "$known" 3 fork
whole forked.sonde dgemm 12 1440000 451200
same failed.sonde "$known" 3 fail
for zone in dpotrf dgemm; do # failed calls have no FLOP
	whole failed.sonde $zone 1 absent absent
done
run 0 "$SONDE" report --section flop failed.sonde
has "$out" "2 library calls failed or had nothing to compute"
same tiny.sonde "$known" 20000 tiny
whole tiny.sonde dgemm 20000 320000 1920000
equal "$(flop tiny.sonde dgemm flop_per_call_median)" 16
# without a call nothing is loaded
run 0 "$SONDE" record --blas -q -o uncalled.sonde -- "$known" 3 none
equal "$(metric uncalled.sonde zones.count)" 0
# under a seccomp filter that makes any system call fatal: nothing is recorded from there on, and nothing loaded
export OPENBLAS_NUM_THREADS=1
same locked.sonde "$known" 5 sandbox first
whole locked.sonde ddot 1 128 1024
same locked-early.sonde "$known" 5 sandbox
equal "$(metric locked-early.sonde zones.count)" 0
unset OPENBLAS_NUM_THREADS
# inside the program's own zones, with its own library
same nested.sonde "$(target blas_zones)"
run 0 "$SONDE" query -f csv nested.sonde "SELECT zone, depth, count(*) FROM zones GROUP BY zone, depth"
has "$out" "dgemm,1,10"
has "$out" "outer,0,10"
# together with the other injected objects
run 0 "$SONDE" record --blas --threads --io --heap -q -o all.sonde -- "$known"
known all.sonde

if [ -x "$SONDE_BUILD/tests/targets/blas_known_cc" ]; then
	same cc.sonde "$SONDE_BUILD/tests/targets/blas_known_cc"
	whole cc.sonde dgemm 8 172032 114688
fi

# numpy loads its own library; a·aᵀ is half of a product
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	cat >products.py <<'PYTHON'
import numpy as np
a, b = np.arange(300.0 * 200).reshape(300, 200), np.ones((200, 100))
for i in range(5):
    c = a @ b
print(c.sum(), (a @ a.T).sum(), np.linalg.solve(np.eye(50) * 3, np.ones((50, 2))).sum())
print((a.astype("float32") @ b.astype("float32")).sum())
PYTHON
	same numpy.sonde /usr/bin/python3 products.py
	equal "$(flop numpy.sonde dgemm calls) $(flop numpy.sonde dgemm flop)" "5 60000000"
	equal "$(flop numpy.sonde dsyrk flop)" $((300 * 301 * 200))
	equal "$(flop numpy.sonde sgemm flop)" 12000000
	equal "$(flop numpy.sonde dgesv flop)" 92025
fi
