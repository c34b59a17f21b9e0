#!/bin/sh
# Fails a build where a model is another one than nar.lock says; other widths and depths are business as usual.
#
#   sh guard_zoo.sh zoo.py:small zoo.py:large
#
# The first run writes nar.lock: commit it. Later ones end with 3 where a design changed, and say what changed, in words.
# After an intended change, remove nar.lock and run it again: the diff of the lock is what a reviewer reads.
set -eu
[ -f nar.lock ] || nar lock "$@"
nar check --allow width --allow depth "$@"
