#!/usr/bin/env bash
# One worker with one thread against two: wall time of transcribing the same corpus, three rounds in turn.
#   bench_cluster.sh REDLINE REDLINE-CLUSTER [REQUESTS]
# Needs espeak-ng, ffmpeg, the models and a quiet machine of two cores.
set -euo pipefail
redline=$(realpath "$1") cluster=$(realpath "$2") requests=${3:-24}
work=$(mktemp -d)
pids=()
# shellcheck disable=SC2317
ending() { for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; rm -rf "$work"; }
trap ending EXIT
export REDLINE_BIN=$redline

"$redline" init "$work/corpus" --language en >/dev/null
"$redline" participant add P01 --corpus "$work/corpus" >/dev/null
for i in $(seq "$requests"); do
  espeak-ng -v en-us -s 140 -w "$work/speech.wav" "Request number $i. Move the hole to the left by $i millimeters, then fillet the outer edge of the bracket, and mirror the plate about its middle."
  ffmpeg -v error -y -f lavfi -i color=gray:s=320x180:r=30 -i "$work/speech.wav" -shortest -pix_fmt yuv420p "$work/speech.mp4"
  "$redline" import video --participant P01 --modality interactive --difficulty easy --corpus "$work/corpus" "$work/speech.mp4" >/dev/null 2>&1
done

port=50150
"$cluster" scheduler --listen 127.0.0.1:$port --worker-timeout 10 >"$work/scheduler.log" 2>&1 & pids+=($!)
until (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; do sleep 0.1; done
worker() {
  "$cluster" worker --scheduler 127.0.0.1:$port --listen 127.0.0.1:"$1" >"$work/worker-$1.log" 2>&1 & pids+=($!)
  until (exec 3<>/dev/tcp/127.0.0.1/"$1") 2>/dev/null; do sleep 0.1; done
}
once() {
  local began ended
  began=$(date +%s.%N)
  "$cluster" run transcribe --corpus "$work/corpus" --scheduler 127.0.0.1:$port --partitions "$requests" -- --force --threads 1 --jobs 1 >/dev/null 2>"$work/run.log" || { cat "$work/run.log" >&2; exit 1; }
  ended=$(date +%s.%N)
  echo "$began $ended" | awk '{ printf "%.1f", $2 - $1 }'
}

one=() two=()
for round in 1 2 3; do
  worker 50160; one+=("$(once)")
  worker 50170; two+=("$(once)")
  # Both workers go; the scheduler learns of it before the next round.
  kill "${pids[-1]}" "${pids[-2]}"; unset 'pids[-1]' 'pids[-1]'; sleep 13
  echo "round $round: one worker ${one[-1]} s, two ${two[-1]} s"
done
printf '%s\n' "${one[@]}" | sort -n | sed -n 2p >"$work/one"
printf '%s\n' "${two[@]}" | sort -n | sed -n 2p >"$work/two"
paste "$work/one" "$work/two" | awk '{ printf "median: one worker %s s, two %s s, speed-up %.2f\n", $1, $2, $1 / $2 }'
