# setup: install what is needed; demo: the main job, end to end; test; bench; lint; cluster and test-cluster: many machines.
.PHONY: setup demo test bench lint cluster test-cluster

setup:
	scripts/setup.sh

demo: setup
	cargo run --quiet -- demo

# Linted and compiled in one pass; `make lint` is for linting alone.
test: export RUSTC_WORKSPACE_WRAPPER = $(CURDIR)/scripts/rustc-lint.sh
test: setup
	cargo fmt --check
	cargo build --workspace --all-targets
	cargo test --workspace --no-fail-fast

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

bench: setup
	scripts/bench.sh

# The distributed engine, a workspace of its own: docs/scale.md.
cluster:
	cd cluster && cargo build --release

test-cluster: setup
	cargo build --quiet
	cd cluster && cargo fmt --check && cargo clippy --quiet --all-targets -- -D warnings && cargo test
