# install.sh: an installed tree is complete, runs from any directory, and finds its injected objects there.
. "$(dirname "$0")/../lib.sh"
need meson jq

DESTDIR=$work/root meson install -C "$SONDE_BUILD" --no-rebuild --quiet >log 2>&1 || fail "$(cat log)"
prefix=$(meson introspect --buildoptions "$SONDE_BUILD" | jq -r '.[] | select(.name == "prefix").value')
libdir=$(meson introspect --buildoptions "$SONDE_BUILD" | jq -r '.[] | select(.name == "libdir").value')
mv "root$prefix" moved-tree
moved="$work/moved-tree"
for file in bin/sonde share/man/man1/sonde.1 share/bash-completion/completions/sonde.bash \
	share/zsh/site-functions/_sonde share/fish/vendor_completions.d/sonde.fish share/doc/sonde/LICENSE; do
	[ -s "$moved/$file" ] || fail "$file is not installed"
done
run 0 "$moved/bin/sonde" --version
equal "$out" "$("$SONDE" --version)"
run 0 "$moved/bin/sonde" doctor
[ -z "$(find . -name 'test_*' -print -quit)" ] || fail "a test program is installed"

# The injected objects are those of the build, and the installed program reports the same sources as the built one.
shopt -s nullglob
for object in "$SONDE_BUILD"/src/inject/*.so; do
	[ -s "$moved/$libdir/sonde/${object##*/}" ] || fail "${object##*/} is not installed"
done
"$moved/bin/sonde" doctor -f csv >installed.csv
"$SONDE" doctor -f csv >built.csv
cmp installed.csv built.csv || fail "$(diff installed.csv built.csv)"

# Objects loaded by a program's own libraries find the installed libsonde.
client=$SONDE_BUILD/tests/targets/nvtx_told
if [ -x "$client" ]; then
	run 0 "$moved/bin/sonde" record -q -o nvtx.sonde -- "$client" names
	holds "$(metric nvtx.sonde zones.count) > 0"
fi
client=$SONDE_BUILD/tests/targets/opencl_known
if [ -x "$client" ] && "$client" >/dev/null 2>&1; then
	run 0 "$moved/bin/sonde" record -q --gpu -o opencl.sonde -- "$client"
	holds "$(rows opencl.sonde kernels | jq length) > 0"
fi

# The target of LD_PRELOAD is laid out for the target machine, not for the machine that builds.
for machine in aarch64 x86_64; do
	mkdir $machine
	touch $machine/libsonde-cpu.so
	"$repo/scripts/preload-tree" $machine "$work/$machine"
	for own in lib/$machine-linux-gnu lib64 '$LIB'; do
		[ $machine/preload/$own/libsonde-cpu.so -ef $machine/libsonde-cpu.so ] || fail "$own of $machine leads nowhere"
	done
done
equal "$(find aarch64/preload -type f)" ""
[ ! -e aarch64/preload/lib/x86_64-linux-gnu ] || fail "a cross build got the building machine's folders"

# Programs are built against it with pkg-config, and need nothing else for that.
if [ -f "$moved/$libdir/pkgconfig/sonde.pc" ]; then
	need gcc pkg-config
	cat >app.c <<-'C'
		#include <sonde/sonde.h>
		int main(void)
		{
			SONDE_ZONE("main");
			return sonde_begin("app") || sonde_end("app");
		}
	C
	export PKG_CONFIG_LIBDIR="$moved/$libdir/pkgconfig"
	flags=$(pkg-config --define-variable=prefix="$moved" --cflags --libs sonde)
	gcc -Wall -Werror -o app app.c $flags || fail "app.c is not built with: $flags"
	export LD_LIBRARY_PATH="$moved/$libdir"
	run 0 "$moved/bin/sonde" record -q -o app.sonde -- ./app
	run 0 "$moved/bin/sonde" report --section zones -f csv app.sonde
	matches "$out" '^app,1,'
	matches "$out" '^main,1,'
fi
