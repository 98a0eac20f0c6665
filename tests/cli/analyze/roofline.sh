# roofline.sh: sonde roofline measures the machine's ceilings once, saves them, copies them into recordings, and plots
# zones with known work below them. Nothing exceeds what was measured; unknown figures are not drawn.
# measures in part: ceilings of this machine, and rates of zones
# timeout: 420
. "$(dirname "$0")/../lib.sh"
need jq
work_target=$(target roofline_work)

# Before any measurement: a message says how to measure. Recordings have rates but no ceilings.
run 4 "$SONDE" roofline --ceilings
has "$err" "sonde roofline --measure"
run 0 "$SONDE" record -q -o before.sonde -- "$work_target" 8
run 0 "$SONDE" roofline -f json -o before.json before.sonde
equal "$(jq -c '[.sections[] | select(.id == "roofline") | .rows[] | select(.gflop_per_s > 0).zone] | sort' before.json)" \
	'["chain","flop","pair","registers","triad"]'
holds_in before.json '[.sections[].id] | any(test("^roofs$")) | not'
run 4 "$SONDE" roofline -f svg before.sonde
has "$err" "never measured"
run 2 "$SONDE" roofline --measure before.sonde
run 2 "$SONDE" roofline -f folded --ceilings

figure() { # CEILING OF COLUMN
	jq -r --arg c "$1" --arg o "$2" --arg k "$3" '.sections[] | select(.id == "roofs") | .rows[] |
		select(.ceiling == $c and .of == $o)[$k]' roofs.json
}
peak() { # PRECISION COLUMN
	jq -r --arg o "$1" --arg k "$2" '[.sections[] | select(.id == "roofs") | .rows[] | select(.of == $o)[$k]] | max' roofs.json
}
zone() { # ZONE COLUMN
	jq -r --arg z "$1" --arg k "$2" '.sections[] | select(.id == "roofline") | .rows[] | select(.zone == $z)[$k]' zones.json
}
known() { # ZONE FIELD: what the program says itself
	awk -v z="$1" -v f="$2" '$1 == z { print $f }' known
}

# Ceilings: what the program reaches itself is near them, and they are in the order of the machine.
run 0 "$SONDE" roofline --measure --json
mv .out roofs.json
run 0 "$SONDE" record -q -o work.sonde -- "$work_target" 96
sed -n '/^[a-z]* [0-9]/p' .out >known
triad=$(calc "24 * 96 * 1024 * 1024 / 8 / $(known triad 5)")
dram=$(figure DRAM triad one_thread) all=$(peak FP64 all_threads) one=$(peak FP64 one_thread)
l1=$(figure L1 read one_thread) # if it was not measured, the reason is checked below
[ "$l1" != null ] || l1=$dram
measured holds "$triad > 0.75 * $dram && $triad < 1.25 * $dram" "GB/s of a triad, and measured"
measured holds "$all >= 0.9 * $one" "GFLOP/s of all CPUs, and of one"
measured holds "$(figure scalar FP64 one_thread) <= 1.1 * $one" "without vectors, and with"
measured holds "1.1 * $l1 >= $dram" "GB/s of L1, and of DRAM"
measured holds "$(peak FP32 all_threads) >= 1.2 * $(peak FP64 all_threads)" "FP32, and FP64"

# They are there for every memory level (or why one is missing), each instruction set of the processor, both precisions.
holds_in roofs.json '[.sections[] | select(.id == "roofs") | .rows[]] | length > 0 and
	(any(.one_thread == null and .absent.one_thread == null) | not)'
run 0 "$SONDE" roofline --ceilings -f csv
matches "$out" '^DRAM,triad,GB/s,'

# Zones: FLOP and bytes as the program counted them, rates by its own clock, below the ceilings in the recording.
rm .cache/sonde/*.roof
run 0 "$SONDE" roofline -f json -o zones.json work.sonde
for name in triad pair registers chain; do
	equal "$(zone $name flop)" "$(known $name 2)"
	equal "$(zone $name bytes)" "$(known $name 3)"
	measured near "$(zone $name gflop_per_s)" "$(known $name 2) / $(known $name 4)" \
		"0.1 * $(zone $name gflop_per_s)"
done
near "$(zone triad flop_per_byte)" 1/12 1e-6
measured matches "$(zone triad bound)" '^(DRAM|L3|L2)$'
measured equal "$(zone registers bound)" compute
measured equal "$(zone chain bound)" compute
measured holds "$(zone registers roof_share) <= 1.15"
measured holds "$(zone chain roof_share) < $(zone registers roof_share)"
measured holds "$(zone pair threads) > 1"
for cell in "flop flop_per_byte" "bytes flop_per_byte" "bytes gflop_per_s"; do
	equal "$cell: $(zone ${cell% *} ${cell#* }), $(zone ${cell% *} absent | jq --arg k "${cell#* }" '.[$k] | length > 0')" "$cell: null, true"
done
measured holds_in zones.json '[.sections[].notes[].text] | any(startswith("LowThroughput: chain"))'

# Pictures; none for a recording without work.
for kind in svg html; do
	run 0 "$SONDE" roofline -q -o zones.$kind work.sonde
	grep -q '<circle' zones.$kind || fail "no points in zones.$kind"
done
[ "$(grep -c '<circle' zones.svg)" = 4 ] || fail "not four points"
run 2 "$SONDE" roofline -o zones.svg work.sonde
has "$err" --force
if [[ $(ldconfig -p 2>/dev/null) == *librsvg-2.so.2* ]]; then
	run 0 "$SONDE" roofline -q -o zones.png work.sonde
	equal "$(head -c 8 zones.png | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a
fi
run 0 "$SONDE" record -q -o none.sonde -- true
run 0 "$SONDE" roofline none.sonde
has "$out" SONDE_ZONE_WORK
run 0 env COLUMNS=80 "$SONDE" roofline work.sonde
fits 80

# Datasheet values are saved next to the measured ones and are kept.
echo 'fp64 123G' >sheet
run 4 "$SONDE" roofline --datasheet sheet
run 0 "$SONDE" roofline --measure -q --datasheet sheet --json
holds_in .out '[.sections[].rows[].datasheet // empty] == [123]'
echo 'fp99 123G' >sheet
run 2 "$SONDE" roofline --datasheet sheet
has "$err" "sheet:1"
kept=$(echo .cache/sonde/*.roof)
cp "$kept" kept
run 2 "$SONDE" roofline --measure --datasheet sheet # the datasheet is read before anything is measured
has "$err" "sheet:1"
cmp kept "$kept" || fail "a wrong datasheet replaced what was kept"

# A merged recording has the ceilings that all parts share, and none if two parts differ.
run 0 "$SONDE" record -q -o later.sonde -- "$work_target" 8
run 0 "$SONDE" record -q -o last.sonde -- "$work_target" 8
run 0 "$SONDE" merge -q -o same.sonde later.sonde last.sonde
run 0 "$SONDE" merge -q -o differ.sonde work.sonde later.sonde
rm "$kept"
run 0 "$SONDE" roofline -f json -o same.json same.sonde
run 0 "$SONDE" roofline -f json -o differ.json differ.sonde
mv kept "$kept"
holds_in same.json '[.sections[].id] | index("roofs") != null'
holds_in differ.json '[.sections[].id] | any(test("^roofs$")) | not'

# A matrix product by a library is not faster than the measured ceiling.
python=/usr/bin/python3 # its numpy calls the system's BLAS, not a bundled one
run 0 "$SONDE" record --help
if "$python" -c 'import numpy' 2>/dev/null && grep -q -- --blas .out; then
	cat >gemm.py <<-'END'
		import numpy
		a = numpy.ones((1200, 1200))
		for _ in range(6):
		    a @ a
	END
	run 0 "$SONDE" record -q --blas -o gemm.sonde -- "$python" gemm.py
	run 0 "$SONDE" roofline --force -f json -o zones.json gemm.sonde
	rate=$(zone cblas_dgemm gflop_per_s)
	[ -n "$rate" ] || rate=$(zone dgemm gflop_per_s)
	run 0 "$SONDE" roofline --ceilings --json
	mv .out roofs.json
	measured holds "$rate * 0.9 <= $(peak FP64 all_threads)"
	holds_in zones.json '[.sections[] | select(.id == "roofline") | .rows[].bytes_are] | any(. == "model")'
fi
