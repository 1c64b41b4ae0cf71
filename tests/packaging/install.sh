#!/bin/bash
# Installs a build into an empty directory and uses it from there as another project would: through
# pkg-config, by the shared and by the static library.
#   install.sh BUILD-DIRECTORY C-COMPILER
set -eu
build=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root cmake --install "$build" --prefix /opt/ebb >"$root/log" || { cat "$root/log"; exit 1; }

fail() {
	echo "install.sh: $*" >&2
	exit 1
}
for file in include/ebb/ebb.h include/ebb/stats.def include/ebb/profile.h bin/ebb share/man/man3/libebb.3 \
	share/bash-completion/completions/ebb share/zsh/site-functions/_ebb share/fish/vendor_completions.d/ebb.fish; do
	[ -s "$root/opt/ebb/$file" ] || fail "$file was not installed"
done

pc=$(find "$root/opt/ebb" -name ebb.pc)
export PKG_CONFIG_PATH=${pc%/*}
export PKG_CONFIG_SYSROOT_DIR=
pkg-config --exists --print-errors ebb
libdir=$(pkg-config --variable=libdir ebb)
[ -s "$libdir/libebb.so" ] && [ -s "$libdir/libebb.a" ] || fail "no library in $libdir"

# The words pkg-config prints are flags, to be split.
# shellcheck disable=SC2046
"$cc" -Wall -Wextra -Werror -o "$root/shared" "$here/user.c" $(pkg-config --cflags --libs ebb)
LD_LIBRARY_PATH=$libdir "$root/shared" "$(pkg-config --modversion ebb)" || fail "the program with libebb.so failed"

# shellcheck disable=SC2046
"$cc" -Wall -Wextra -Werror -o "$root/static" "$here/user.c" $(pkg-config --cflags ebb) "$libdir/libebb.a" -pthread
"$root/static" "$(pkg-config --modversion ebb)" || fail "the program with libebb.a failed"

# Nothing of ours but ebb_ names and the malloc family is visible, in either library.
if nm -D --defined-only "$libdir/libebb.so" | grep -E ' [A-Za-z] ebbi_'; then
	fail "internal names are exported by libebb.so"
fi
if nm --defined-only "$libdir/libebb.a" | grep -E ' [A-Z] ebbi_'; then
	fail "internal names are global in libebb.a"
fi
# libebb needs the C library and nothing else.
if readelf -d "$libdir/libebb.so" | grep NEEDED | grep -vE 'libc\.so|ld-linux'; then
	fail "libebb.so needs more than the C library"
fi

"$root/opt/ebb/bin/ebb" --help >"$root/help" || fail "the installed ebb --help failed"
grep -q run "$root/help" || fail "ebb --help does not mention run"
echo "installed, found and used: $(find "$root/opt/ebb" -type f | wc -l) files"
