# device-oracle.sh: each figure in the GPU sections equals a brute-force computation from known times.
. "$(dirname "$0")/../lib.sh"
need python3
python3 -c 'import itertools; itertools.pairwise' 2>.old || skip "python3 is older than 3.10"
code=0
python3 "$repo/tests/cli/device_oracle.py" "$SONDE" "$(target device_script)" 1 2 3 4 5 6 7 8 >.out 2>.err || code=$?
[ $code -ne 77 ] || skip "$(cat .out)"
[ $code -eq 0 ] || fail "a figure is not what is found"
[ "$(cat .out)" -gt 500 ] || fail "$(cat .out) rows were compared"
