#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that everything the build needs is there, by asking for the thing itself (a command, a
# header or a pkg-config module) and not for a package. On Debian and its children what is missing is installed
# with apt where root or sudo is at hand; else the one line to run is printed. On other systems the
# missing things are named. Usage: scripts/deps.sh [tests|train]
set -euo pipefail

# need LEVEL KIND NAME PACKAGE: LEVEL is required, or optional (the build is smaller without it).
missing=() packages=() required_missing=0
need() {
    case $2 in
    command) command -v "$3" >/dev/null 2>&1 && return 0 ;;
    module) command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "$3" && return 0 ;;
    header) echo "#include <$3>" | cc -x c -fsyntax-only - 2>/dev/null && return 0 ;;
    esac
    missing+=("$2 '$3' ($1)")
    packages+=("$4")
    [ "$1" = optional ] || required_missing=1
}

check() {
    missing=() packages=() required_missing=0
    need required command cc gcc
    need required header stdlib.h libc6-dev
    need required command cmake cmake
    need required command ninja ninja-build
    need required command pkg-config pkg-config
    need required module jansson libjansson-dev
    need required module yaml-0.1 libyaml-dev
    need required module libpcre2-8 libpcre2-dev
    need required module libutf8proc libutf8proc-dev
    need required module zlib zlib1g-dev
    need required module libzstd libzstd-dev
    need required module openblas libopenblas-pthread-dev
    need required module cmocka libcmocka-dev
    need optional command mpicc libopenmpi-dev
    need optional command mpirun openmpi-bin
    need optional command ssh openssh-client
    if [ "${1:-}" = tests ]; then
        need optional command clang-format clang-format
        need required command zstd zstd
    fi
    if [ "${1:-}" = train ]; then
        [ -n "${TEXT:-}" ] || need required command bible bible-kjv
        need required command xz xz-utils
    fi
}

check "$@"
[ ${#packages[@]} -gt 0 ] || exit 0

if command -v apt-get >/dev/null 2>&1; then
    install="apt-get install -y --no-install-recommends ${packages[*]}"
    as_root=()
    if [ "$(id -u)" != 0 ]; then
        if command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
            as_root=(sudo)
        else
            as_root=(none)
        fi
    fi
    if [ "${as_root[0]:-}" != none ]; then
        echo "installing: ${packages[*]}"
        log=$(mktemp)
        if ! { "${as_root[@]}" apt-get update -qq &&
            "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $install -qq; } >"$log" 2>&1; then
            cat "$log" >&2
        fi
        rm -f "$log"
        check "$@"
        [ ${#packages[@]} -gt 0 ] || exit 0
        install="apt-get install -y --no-install-recommends ${packages[*]}"
    fi
    echo "missing: $(IFS=,; echo "${missing[*]}" | sed 's/,/, /g')" >&2
    echo "install with: sudo $install" >&2
else
    echo "missing: $(IFS=,; echo "${missing[*]}" | sed 's/,/, /g')" >&2
    echo "install them with your system's package manager; Debian's names: ${packages[*]}" >&2
fi
if [ "$required_missing" = 1 ]; then
    exit 1
fi
echo "going on without what is optional" >&2
