#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts every MPI test: run_mpi.sh NUM_RANKS PROGRAM [ARGUMENTS]. Knows mpirun's habits: it binds one
# or two ranks to a core each, refuses root and more ranks than cores, and wants an ssh client even on
# one machine. Exit 77 (skipped) with the reason when there is no mpirun.
num_ranks=$1
shift

if ! command -v mpirun >/dev/null 2>&1; then
    echo "skipped: no mpirun in PATH; install one (Debian: openmpi-bin)"
    exit 77
fi

# Leaks inside MPI itself are not ours to report.
ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export ASAN_OPTIONS

case $(mpirun --version 2>/dev/null) in
*"Open MPI"*)
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
    launcher=""
    if ! command -v ssh >/dev/null 2>&1 && ! command -v rsh >/dev/null 2>&1; then
        launcher="--mca plm isolated"
    fi
    exec mpirun $launcher --bind-to none --oversubscribe -n "$num_ranks" "$@"
    ;;
esac
exec mpirun -n "$num_ranks" "$@"
