#!/bin/sh
# Installs librts for C programs: both libraries, the headers and the file for pkg-config.
#
#   install.sh [--prefix DIR] [--libdir DIR] [--built DIR]
#
# The default prefix is /usr/local, and libraries go to its folder lib unless --libdir is given. For packages, DESTDIR is put
# before both. --built names a directory that already contains librts.a and librts.so; without it, cargo builds them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local
libdir=
built=

while [ $# -gt 0 ]; do
    case "$1" in
        --prefix=*) prefix=${1#*=} ;;
        --libdir=*) libdir=${1#*=} ;;
        --built=*) built=${1#*=} ;;
        --prefix | --libdir | --built)
            [ $# -gt 1 ] || { echo "install.sh: $1: a directory is missing" >&2; exit 1; }
            case "$1" in
                --prefix) prefix=$2 ;;
                --libdir) libdir=$2 ;;
                --built) built=$2 ;;
            esac
            shift
            ;;
        --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) echo "install.sh: unknown argument $1: expected --prefix DIR, --libdir DIR or --built DIR" >&2; exit 1 ;;
    esac
    shift
done
case "$prefix" in
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
esac

if [ -z "$built" ]; then
    (cd "$here" && cargo build --release --locked -p tfbc-rts)
    built=${CARGO_TARGET_DIR:-$here/../../../target}/release
fi

libdir=${libdir:-$prefix/lib}
to=${DESTDIR:-}$prefix
lib=${DESTDIR:-}$libdir
mkdir -p "$lib/pkgconfig" "$to/include/sys"
cp "$built/librts.a" "$lib/librts.a"
# Replaced by renaming, so that running programs keep the old file.
cp "$built/librts.so" "$lib/librts.so.1.new"
mv "$lib/librts.so.1.new" "$lib/librts.so.1"
ln -sf librts.so.1 "$lib/librts.so"
for header in trace trcctl trchkid trcmacros; do
    cp "$here/../include/sys/$header.h" "$to/include/sys/$header.h"
done
# A file below the prefix may be moved together with it.
case "$libdir" in
    "$prefix"/*) in_prefix='${prefix}'${libdir#"$prefix"} ;;
    *) in_prefix=$libdir ;;
esac
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/../../../Cargo.toml")
sed -e "s|@prefix@|$prefix|" -e "s|@libdir@|$in_prefix|" -e "s|@version@|$version|" "$here/rts.pc.in" > "$lib/pkgconfig/rts.pc"

# The loader finds libraries in the system's own directories only after it has read them again.
if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" = 0 ]; then
    ldconfig 2>/dev/null || true
fi
echo "librts is in $libdir"
# Compiler, loader and pkg-config look only into the system's directories by themselves.
case "$libdir" in
    /usr/lib* | /usr/local/lib) ;;
    *)
        echo "Programs that use it:"
        echo "  cc my.c \$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs rts) -Wl,-rpath,$libdir"
        ;;
esac
