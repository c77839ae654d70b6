#!/bin/sh
# Cargo's RUSTC_WORKSPACE_WRAPPER for `make test`: the workspace's own crates are compiled by Clippy. `cargo clippy` would
# compile every dependency once more, without code; that was a third of a cold run.
exec clippy-driver "$@" -D warnings
