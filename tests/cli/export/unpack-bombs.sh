# unpack-bombs.sh: data that unpacks to thousands of times its size takes bounded memory: chunks with valid checksums,
# in every reader and export, and compressed sections of a program that is recorded and reported.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need python3 objcopy zstd
bomb=$(target bomb)
most=768 # MB; without bounds gigabytes

# peak CODE COMMAND…: its peak RSS is below the bound.
peak() {
	local expected=$1 code peak
	shift
	read -r code peak < <(python3 "$repo/tests/cli/peak.py" .out .err "$@")
	[ "$code" -eq "$expected" ] || fail "exit code $code instead of $expected: $*"
	holds "$peak <= $most" "($peak MB: $*)"
}

# Each chunk type that has rows (enum sonde_chunk_type), 16 chunks of 16 MB each.
for type in 2 3 4 5 9 10 11 12; do
	"$bomb" bomb.sonde $type 16
	peak 0 "$SONDE" report -q --json --section summary bomb.sonde
	has "$(<.out)" "bytes could not be read, first at"
	peak 0 "$SONDE" report -q bomb.sonde
done
for type in 3 4 10; do # exports that keep something for each row
	"$bomb" bomb.sonde $type 16
	peak 0 "$SONDE" export -q -f html --force -o out.html bomb.sonde
done
"$bomb" few.sonde 3 1 1000 # rows that a recording of this size may have
run 0 "$SONDE" report -q few.sonde
lacks "$out" "could not be read"

# A program whose sections unpack to 200 MB.
cat >burn.c <<-'C'
	#include <time.h>
	__attribute__((noinline)) unsigned burn(unsigned x)
	{
		for (int i = 0; i < 1000000; i++)
			x = x * 1664525u + 1013904223u;
		return x;
	}
	int main(void)
	{
		unsigned x = 1;
		while (clock() < CLOCKS_PER_SEC / 10)
			x = burn(x);
		return x == 42;
	}
C
need gcc
gcc -g -O1 burn.c -o burn
cat >bomb.py <<'PYTHON'
import lzma, struct, subprocess, sys, zlib
size, source, to, section, kind = 200 << 20, *sys.argv[1:5]
blocks = [bytes(1 << 20)] * (size >> 20)
if kind == "zstd":
    packed = subprocess.run(["zstd", "-q", "-c"], input=b"".join(blocks), stdout=subprocess.PIPE, check=True).stdout
else:
    packer = zlib.compressobj(6) if kind == "zlib" else lzma.LZMACompressor(preset=0)
    packed = b"".join([packer.compress(block) for block in blocks] + [packer.flush()])
head = b"" if kind == "xz" else struct.pack("<IIQQ", 1 if kind == "zlib" else 2, 0, size, 1)
open("section", "wb").write(head + packed)
subprocess.run(["objcopy", "--remove-section", section, source, "without"], check=True)
subprocess.run(["objcopy", "--add-section", section + "=section", "without", to], check=True)
if kind != "xz": # marks the section as compressed
    elf = bytearray(open(to, "rb").read())
    headers, = struct.unpack_from("<Q", elf, 40)
    each, count, names = struct.unpack_from("<HHH", elf, 58)
    texts, = struct.unpack_from("<Q", elf, headers + names * each + 24)
    for at in range(headers, headers + count * each, each):
        name = texts + struct.unpack_from("<I", elf, at)[0]
        if elf[name:elf.index(b"\0", name)] == section.encode():
            struct.pack_into("<Q", elf, at + 8, struct.unpack_from("<Q", elf, at + 8)[0] | 0x800)
    open(to, "wb").write(elf)
PYTHON
most=120
for what in zlib:.debug_line zlib:.debug_frame zstd:.debug_info xz:.gnu_debugdata; do
	cp burn plain
	[ "$what" != xz:.gnu_debugdata ] || strip -s plain
	python3 bomb.py plain hostile "${what#*:}" "${what%:*}"
	XDG_CACHE_HOME=$work/one peak 0 "$SONDE" record -q --force -o hostile.sonde -- ./hostile
	XDG_CACHE_HOME=$work/two peak 0 "$SONDE" report hostile.sonde
	rm -rf one two
done

# Regular compressed sections are read as before, with zlib and with zstd.
for kind in zlib zstd; do
	cp burn packed
	objcopy --compress-debug-sections=$kind packed 2>/dev/null || continue
	run 0 "$SONDE" record -q --force -o packed.sonde -- ./packed
	rm -rf .cache
	run 0 "$SONDE" report --section functions -q -f csv packed.sonde
	has "$out" "burn.c"
done
