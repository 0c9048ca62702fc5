#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A process that hangs for ever under mpirun: every survivor must name it, and the job must end.
# Usage: t402-comm-hang.sh PROGRAM
output=$("$(dirname "$0")/run_mpi.sh" 3 "$1" mpi hang 2>&1)
status=$?
[ $status -eq 77 ] && echo "$output" && exit 77
for rank in 0 2; do
    want="rank $rank says: rank 1 did not come to all_reduce number 2 on group 'all' within 2 s"
    case $output in
    *"$want"*) ;;
    *)
        echo "not found: $want"
        echo "in: $output"
        exit 1
        ;;
    esac
done
