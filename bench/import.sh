# import: 500 MB of trace events in JSON, as written by PyTorch's profiler, imported: time and memory
source "$(dirname "$0")/lib.bash"

rounds=$(n 3 1)
size_mb=$(n 500 50)
command -v python3 >/dev/null || { unavailable "import of $size_mb MB of JSON" "–" "≤ 10 s for 500 MB" "python3 is not installed"; exit 0; }
if ! "$SONDE" import -q -o probe.sonde - <<<'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]' >&2; then
	unavailable "import of $size_mb MB of JSON" "–" "≤ 10 s" "this build has no reader of JSON (libyajl-dev)"
	exit 0
fi

# The same bytes each time: nested operators in four threads, kernels on a stream, arguments.
say "writing $size_mb MB"
python3 - "$size_mb" >trace.json <<'PYTHON'
import sys
size, left, i = 0, int(sys.argv[1]) * 1000000, 0
out = sys.stdout
out.write('{"schemaVersion":1,"baseTimeNanoseconds":1700000000000000000,"traceEvents":[\n')
while size < left:
    block = []
    for _ in range(1000):
        thread, step = i % 4, i // 4
        if i % 5 == 4:
            block.append('{"ph":"X","cat":"kernel","name":"void gemm_kernel<%d>(float*)","pid":0,"tid":7,"ts":%d.%03d,'
                         '"dur":11.250,"args":{"stream":7,"correlation":%d,"grid":[80,1,1]}}' % (i % 50, i * 20, i % 1000, i))
        else:
            inside = step % 3
            block.append('{"ph":"X","cat":"cpu_op","name":"aten::op_%d","pid":100,"tid":%d,"ts":%d.%03d,"dur":%d.500,'
                         '"args":{"External id":%d,"Sequence number":%d}}'
                         % (i % 40, 100 + thread, (step - inside) * 40 + inside, i % 1000, 60 - 20 * inside, i, i))
        i += 1
    text = ",\n".join(block)
    out.write(text + ",\n")
    size += len(text) + 2
out.write('{"ph":"i","name":"end","s":"g","pid":100,"tid":100,"ts":%d}]}\n' % (i * 20))
PYTHON
bytes=$(stat -c %s trace.json)

for ((i = 0; i < rounds; i++)); do
	say "round $((i + 1)) of $rounds"
	cost floor cat trace.json
	cost import "$SONDE" import -q --force -o trace.sonde trace.json
	cost load "$SONDE" report -q --section zones trace.sonde
done
cost_of import wall | keep seconds
cost_of import rss | awk '{ print $1 / 1e6 }' | keep memory
cost_of load wall | keep load
keep rate "$(calc "$bytes / 1e6 / $(median seconds)")"
keep file "$(calc "$(stat -c %s trace.sonde) / 1e6")"
zones=$(metric trace.sonde zones.count)

why="$(calc "int($bytes / 1e6)") MB, $zones zones, $rounds runs"
judge "import of $size_mb MB of trace events" seconds s "–" "≤ 10 s for 500 MB" "<=" "$(calc "10 * $size_mb / 500")" "$why"
judge "its peak memory" memory MB "–" "≤ 500 MB" "<=" 500 "rows beyond 20 MB are sorted in a file"
info "its rate" rate MB/s "–"
info "the recording" file MB "–"
info "a report of its zones" load s "–"
