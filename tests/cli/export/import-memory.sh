# import-memory.sh: no file makes `sonde import` use more memory than --max-memory: gzip bombs and compact files that
# expand, in each format, end with a message and exit code 4, and leave no recording.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need python3
limit=128 # MB; the program and its libraries have 64 MB besides

python3 - <<'PYTHON'
import struct, zlib

def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))

def field(n, data):
    return varint(n << 3 | 2) + varint(len(data)) + data

def put(name, *parts):
    with open(name, "wb") as file:
        for part in parts:
            file.write(part)

def gz(name, begin, unit, size, end=b""):
    """A full flush makes packed blocks independent of each other, so one of them is repeated."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    block = unit * (1 + (1 << 20) // len(unit))
    count = size // len(block) + 1
    first = packer.compress(begin) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    last = packer.compress(end) + packer.flush()
    check = zlib.crc32(begin)
    for _ in range(count):
        check = zlib.crc32(block, check)
    put(name, b"\x1f\x8b\x08" + bytes(6) + b"\xff", first, packed * count, last,
        struct.pack("<II", zlib.crc32(end, check), (len(begin) + count * len(block) + len(end)) & 0xffffffff))

# pprof: empty strings of two bytes each; locations; stacks without common prefixes.
numbers, squares = [varint(i) for i in range(3 << 19)], [j * j for j in range(60)]
tables = field(1, b"\x08\x01\x10\x02") + field(6, b"") + field(6, b"cpu") + field(6, b"nanoseconds")
put("texts.pprof", tables, b"\x32\x00" * (8 << 20))
put("locations.pprof", tables, b"".join([field(4, b"\x08" + number) for number in numbers[1:]]))
put("stacks.pprof", tables, b"".join([field(4, b"\x08" + number) for number in numbers[1:200000]]),
    *(field(2, field(1, b"".join([numbers[(i * 7 + square) % 199999 + 1] for square in squares])) + field(2, b"\x01"))
      for i in range(50000)))
gz("bomb.pprof", tables, b"\x32\x00", 300 << 20)
# Trace events: names, spans that do not end, threads, calls of a profile, nesting, a string without an end.
put("names.chrome", b"[", *(b'{"ph":"i","ts":%d,"name":"n%d%s"},\n' % (i, i, b"x" * 150) for i in range(450000)), b"{}]")
put("spans.chrome", b"[", *(b'{"ph":"b","ts":%d,"name":"n","id":%d},\n' % (i, i) for i in range(1300000)), b"{}]")
put("threads.chrome", b"[", *(b'{"ph":"i","ts":%d,"tid":%d,"name":"n"},\n' % (i, i) for i in range(70000)), b"{}]")
put("calls.chrome", b'[{"ph":"P","name":"ProfileChunk","pid":1,"tid":1,"ts":1,"args":{"data":{"cpuProfile":{"nodes":[',
    b",".join(b'{"id":%d,"callFrame":{"functionName":"f%d"}}' % (i + 1, i) for i in range(1100000)), b"]}}}}]")
put("nested.chrome", b'[{"ph":"i","ts":1,"args":', b'{"a":[' * 1000)
gz("bomb.chrome", b"[", b'{"ph":"i","ts":1,"name":"a"},', 300 << 20, b'{"ph":"i","ts":1}]')
gz("space.chrome", b"[", b" ", 40 << 20, b'{"ph":"i","ts":1}]')
# Folded stacks: names, and a line without an end.
put("names.folded", *(b"n%d%s;m%d 1\n" % (i, b"x" * 90, i) for i in range(500000)))
gz("bomb.folded", b"", b"main;work" + b";deeper" * 200 + b" 1\n", 300 << 20)
gz("line.folded", b"main;work 1\n", b"a", 40 << 20)

# perf.data: records, mappings, processes.
def perf(name, records):
    attr = bytearray(128)
    struct.pack_into("<IIQQQQ", attr, 0, 1, 128, 0, 1000000, 1 | 2 | 4 | 256, 0)
    data = b"".join(records)
    put(name, b"PERFILE2" + struct.pack("<8Q", 104, 144, 104, 144, 248, len(data), 0, 0) + b"\0" * 32, bytes(attr) + b"\0" * 16,
        data)

def sample(i):
    return struct.pack("<IHHQIIQQ", 9, 2, 40, 0x400000 + i, 1, 1, 1000 + i, 1000000)

def mapping(i):
    path = b"/lib/x%d" % i
    path += b"\0" * (72 - len(path) % 8)
    return struct.pack("<IHHIIQQQ", 1, 2, 40 + len(path), 1 + i, 1, 0x1000 * i + 0x10000, 0x1000, 0) + path

def fork(i):
    return struct.pack("<IHHIIIIQ", 7, 0, 32, i + 2, 1, i + 2, 1, i)

perf("records.perf", [sample(i) for i in range(1000)] * 8500)
perf("mappings.perf", [mapping(i) for i in range(250000)] + [sample(0)])
perf("forks.perf", [fork(i) for i in range(700000)] + [sample(0)])
PYTHON

for format in $(grep -o '^SONDE_IMPORT_FORMAT([a-z]*' "$repo/src/import/formats.def" | cut -d'(' -f2); do
	compgen -G "*.$format" >/dev/null || fail "no file here tries the format $format"
done
"$SONDE" import --from chrome -q -o probe.sonde nested.chrome 2>.err || ! grep -q yajl .err || rm ./*.chrome
checked=0
for file in *.pprof *.chrome *.folded *.perf; do
	[ -e "$file" ] || continue # built without yajl
	read -r code peak < <(python3 "$repo/tests/cli/peak.py" .out .err "$SONDE" import --from "${file##*.}" --max-memory ${limit}M \
		-o none.sonde "$file")
	echo "$file: $peak MB, $(<.err)"
	equal "$code" 4
	case $file in
	bomb.pprof) matches "$(<.err)" "needs more than 128M of memory|looks like a compression bomb" ;;
	bomb.*) has "$(<.err)" "looks like a compression bomb: its " ;;
	threads.chrome) has "$(<.err)" "it has more than 65536 threads" ;;
	nested.chrome) has "$(<.err)" "nested more than 256 deep" ;;
	space.chrome) has "$(<.err)" "is longer than 16 MB" ;;
	line.folded) matches "$(<.err)" "line 2|16 MB|maximum" ;;
	*) equal "$(<.err)" "sonde import: $file needs more than 128M of memory; if you trust the file, raise the limit: --max-memory 256M" ;;
	esac
	holds "$peak <= $limit + 64" "($file)"
	[ ! -e none.sonde ] || fail "$file left a recording"
	checked=$((checked + 1))
done
holds "$checked >= 9"

# A file that was rejected can be read with a higher limit.
run 0 "$SONDE" import -q --from pprof --max-memory 1G -o more.sonde locations.pprof
run 2 "$SONDE" import --max-memory 1M -o less.sonde locations.pprof
has "$err" "--max-memory"
