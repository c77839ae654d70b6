# setup: install what is needed; demo: the main job, end to end; test; bench; lint.
.PHONY: setup demo test bench lint

setup:
	scripts/setup.sh

demo: setup
	cargo run --quiet -- demo

test: setup lint
	cargo test --workspace --no-fail-fast

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

bench: setup
	scripts/bench.sh
