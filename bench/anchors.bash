# anchors.bash: the tools that sonde is compared with, as packaged by the distribution. Each can be missing or forbidden
# here: *_missing prints the reason, and nothing if the tool works.

perf_missing() {
	command -v perf >/dev/null || { echo "perf is not installed"; return; }
	perf record -q -F 1000 -o "$work/probe.perf" -- true >&2 ||
		echo "perf record does not work here"
}

# perf_roots FILE: the percentage of the samples in a perf.data whose stack reaches the start of the thread.
perf_roots() {
	timeout 300 perf script --no-inline -F ip,sym -i "$1" | awk '
		NF == 0 { all += seen; whole += seen && root; seen = root = 0; next }
		{ seen = 1 }
		$2 ~ /^(_start|__libc_start_|__libc_init_first|_dl_start|start_thread|clone|__clone|thread_start)/ { root = 1 }
		END { all += seen; whole += seen && root; if (all) printf "%.3f\n", 100 * whole / all }'
}

perf_samples() {
	perf script -F ip -G -i "$1" | awk 'NF' | wc -l
}

lttng_missing() {
	local tool
	for tool in lttng lttng-sessiond babeltrace2; do
		command -v $tool >/dev/null || { echo "$tool is not installed"; return; }
	done
	[ -x "$programs/pair-lttng" ] || echo "the headers of lttng-ust are not installed"
}

# lttng_begin DIRECTORY: a session daemon of our own, and a session that records our tracepoints into DIRECTORY.
lttng_begin() {
	export LTTNG_HOME=$work/lttng
	mkdir -p "$LTTNG_HOME"
	if ! lttng list >/dev/null 2>&1; then
		lttng-sessiond --no-kernel --background --pidfile="$work/lttng.pid" >&2
	fi
	{
		lttng create sonde-bench --output="$1"
		lttng enable-channel --userspace --subbuf-size=4M --num-subbuf=8 --discard zones
		lttng enable-event --userspace 'sonde_bench:*' --channel=zones
		lttng start
	} >&2
}

lttng_end() {
	lttng destroy sonde-bench >&2 || true
	[ ! -s "$work/lttng.pid" ] || end "$(cat "$work/lttng.pid")"
	rm -f "$work/lttng.pid"
}

uftrace_missing() {
	command -v uftrace >/dev/null || { echo "uftrace is not installed"; return; }
	uftrace record --no-event --no-libcall -d "$work/probe.uftrace" "$programs/pair-uftrace" 1 10 >&2 ||
		echo "uftrace record does not work here"
}

heaptrack_missing() {
	command -v heaptrack >/dev/null || { echo "heaptrack is not installed"; return; }
	heaptrack -o "$work/probe.heaptrack" "$(type -P true)" >&2 || echo "heaptrack does not work here"
}

# gperftools' heap profiler is in the allocator of that name; sets `tcmalloc` to it.
tcmalloc=
for tcmalloc in /usr/lib/*/libtcmalloc.so.4 /usr/lib*/libtcmalloc.so.4; do
	[ ! -f "$tcmalloc" ] || break
done
gperftools_missing() {
	[ -f "$tcmalloc" ] || echo "google-perftools is not installed"
}
