#!/usr/bin/env bash
# run.sh FORMAT FILE [REPORT.json]: checks that FILE is valid FORMAT, with our own checks (check.py) and with the tools
# in which people open such files. With a JSON report that has the call tree, totals must be equal to the last
# nanosecond.
#
# Exits 0: fine; 1: wrong, with the reason; 77: a tool is missing, with its name (our own checks have passed then).
# npm packages are installed once, by tests/validate/package-lock.json, into $SONDE_VALIDATE_DIR (default: the cache).
set -u -o pipefail

format=${1:?FORMAT}
file=$(realpath "${2:?FILE}") || exit 1
report=${3:+$(realpath "$3")}
here=$(dirname "$(realpath "$0")")
packages=${SONDE_VALIDATE_DIR:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/sonde-validate}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python=python3
[ "$format" != openmetrics ] || python3 -c 'import prometheus_client' 2>/dev/null || python=/usr/bin/python3 # a package's

missing() {
	echo "$format: not asked: $1" >&2
	exit 77
}

wrong() {
	echo "$format: $1" >&2
	[ -s "$scratch/log" ] && head -n 20 "$scratch/log" >&2
	exit 1
}

check() {
	command -v python3 >/dev/null || missing "python3 is not installed"
	"$python" "$here/check.py" "$format" "${1:-$file}" ${report:+"$report"} || exit $?
}

npm_packages() {
	command -v npm >/dev/null || missing "npm is not installed"
	cmp -s "$here/package-lock.json" "$packages/package-lock.json" && [ -e "$packages/.complete" ] && return
	mkdir -p "$packages" && cp "$here"/package*.json "$packages" || missing "$packages cannot be written"
	(cd "$packages" && npm ci --no-audit --no-fund) >"$scratch/log" 2>&1 || missing "npm ci failed: $(tail -n 1 "$scratch/log")"
	touch "$packages/.complete"
}

go_tool() {
	local go
	for go in "$(command -v go)" /usr/lib/go/bin/go /usr/lib/go-*/bin/go; do
		[ -x "$go" ] && HOME=$scratch "$go" tool pprof -h 2>&1 | grep -q pprof && echo "$go" && return
	done
	return 1
}

validate_pprof() {
	local go
	go=$(go_tool) || missing "go tool pprof is not installed (golang-go)"
	HOME=$scratch "$go" tool pprof -top "$file" >"$scratch/top" 2>"$scratch/log" || wrong "pprof -top failed"
	HOME=$scratch "$go" tool pprof -raw "$file" >"$scratch/raw" 2>"$scratch/log" || wrong "pprof -raw failed"
	check "$scratch/raw"
}

validate_speedscope() {
	check
	npm_packages
	(cd "$packages" && node "$here/speedscope.mjs" "$file") 2>"$scratch/log" || wrong "it is not valid by speedscope's schema"
}

# The Firefox Profiler's own importer, as a command. It keeps a daemon for each session: in a folder of its own, ended
# here. The daemon has half a second to start, which a busy machine may not give it.
load_profile() {
	local try pid
	for try in 1 2 3 4 5; do
		timeout 120 profiler-cli load "$file" >"$scratch/log" 2>&1 && return
		pid=$(sed -n 's/.*still be running as pid \([0-9]*\).*/\1/p' "$scratch/log")
		[ "$pid" ] || return 1
		kill -9 "$pid" 2>/dev/null # it takes no milder signal while it starts
		sleep "$try"
	done
	return 1
}

# chrome, firefox: the Firefox Profiler reads both.
validate_chrome() {
	check
	npm_packages
	export HOME=$scratch PATH="$packages/node_modules/.bin:$PATH" PROFILER_CLI_SESSION_DIR=$scratch
	if ! load_profile; then
		grep -q "did not become ready" "$scratch/log" && missing "profiler-cli did not start in time"
		wrong "the Firefox Profiler cannot open it"
	fi
	timeout 60 profiler-cli thread list >"$scratch/log" 2>&1
	local rc=$?
	timeout 60 profiler-cli stop >/dev/null 2>&1
	[ $rc = 0 ] && grep -q ' t-0 ' "$scratch/log" || wrong "the Firefox Profiler sees no thread"
}

validate_firefox() {
	validate_chrome
}

validate_perfetto() {
	check
	command -v protoc >/dev/null || missing "protoc is not installed (protobuf-compiler)"
	protoc --decode_raw <"$file" >"$scratch/raw" 2>"$scratch/log" || wrong "protoc cannot read it"
	[ -s "$scratch/raw" ] || wrong "protoc reads nothing in it"
}

validate_callgrind() {
	check
	command -v callgrind_annotate >/dev/null || missing "callgrind_annotate is not installed (valgrind)"
	callgrind_annotate --auto=no --threshold=100 "$file" >"$scratch/annotated" 2>"$scratch/log" || wrong "callgrind_annotate failed"
	[ -s "$scratch/log" ] && wrong "callgrind_annotate complains"
	local total sum
	total=$(sed -n 's/^summary: [0-9]* \([0-9]*\)$/\1/p' "$file")
	sum=$(sed -n 's/^ *[0-9,]* *([^)]*) *\([0-9,]*\) .*PROGRAM TOTALS.*/\1/p' "$scratch/annotated" | tr -d ,)
	[ "$total" = "$sum" ] || wrong "callgrind_annotate sums up $sum ns, the file says $total"
}

validate_svg() {
	check
	command -v xmllint >/dev/null || missing "xmllint is not installed (libxml2-utils)"
	xmllint --noout --nonet "$file" 2>"$scratch/log" || wrong "it is not well-formed"
}

# A flame graph in a browser: zoom, search and keyboard do what they should.
validate_flame() {
	local browser wrong
	browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
		missing "chromium is not installed"
	python3 - "$file" "$here/flame.js" >"$scratch/flame.svg" <<-'END' || wrong "the page has no end"
		import sys
		page, driver = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
		head, end, tail = page.rpartition("</svg>")
		assert end
		print(head + "<script><![CDATA[" + driver + "]]></script></svg>" + tail)
	END
	HOME=$scratch timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/browser" \
		--dump-dom "file://$scratch/flame.svg" >"$scratch/dom" 2>"$scratch/browser.log" || missing "chromium does not start"
	wrong=$(sed -n 's/.*data-wrong="\([^"]*\)".*/\1/p' "$scratch/dom")
	grep -q 'data-wrong="' "$scratch/dom" || wrong "its script ended early"
	[ -z "$wrong" ] || wrong "$wrong"
}

case $format in
pprof | speedscope | chrome | perfetto | firefox | callgrind | svg | flame) "validate_$format" ;;
text | json | csv | md | openmetrics | folded) check ;;
*) echo "run.sh: no such format: $format" >&2 && exit 2 ;;
esac
