#!/bin/bash
# The contacts server keeps its promise (bench/contacts/promise.yaml).
set -eu

: "${EBB_SOURCE_DIR:?}" "${EBB_BIN_DIR:?}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ebb-promise.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# The demo's own book may be written at this moment.
export CONTACTS_BOOK=$scratch/book
ruby "$EBB_SOURCE_DIR/bench/contacts/generate.rb" "$CONTACTS_BOOK" >"$scratch/out"
CONTACTS_PORT=$(python3 -I -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export CONTACTS_PORT
# Nothing from the shell tunes Ruby.
env -u RUBYOPT -u RUBYLIB -u MALLOC_ARENA_MAX -u WEB_CONCURRENCY -u PUMA_MAX_THREADS \
	"$EBB_BIN_DIR/ebb" check "$EBB_SOURCE_DIR/bench/contacts/promise.yaml" --save "$scratch/result.json"
