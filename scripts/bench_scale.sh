#!/usr/bin/env bash
# Packing against the number of sessions: generates light corpora in place, packs each in one process, files from disk and then
# from memory. Prints CSV: sessions, events, seconds to pack when files come from disk, seconds from memory, peak memory (MB).
#   bench_scale.sh REDLINE REDLINE-GENERATE FOLDER [SIZES…]
# A million sessions need 15 GB and 3 million inodes. Dropping the page cache needs root; without it both times are from memory.
set -euo pipefail
redline=$(realpath "$1") generate=$(realpath "$2") folder=$3
shift 3
sizes=("${@:-}")
[ -n "${sizes[0]}" ] || sizes=(1000 10000 100000 1000000)
events=30
mkdir -p "$folder"
echo "sessions,events,seconds_disk,seconds_memory,peak_mb"
for n in "${sizes[@]}"; do
  corpus="$folder/$n"
  [ -d "$corpus" ] || "$generate" "$corpus" --requests "$n" --light "$events" >/dev/null
  once() {
    python3 - "$redline" "$corpus" "$folder/tables" <<'P'
import resource, subprocess, sys, time
began = time.monotonic()
subprocess.run([sys.argv[1], "pack", "--corpus", sys.argv[2], "--out", sys.argv[3]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(f"{time.monotonic() - began:.2f} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f}")
P
  }
  sync
  echo 3 2>/dev/null >/proc/sys/vm/drop_caches || true
  read -r disk peak1 < <(once)
  read -r memory peak2 < <(once)
  echo "$n,$((n * events)),$disk,$memory,$((peak1 > peak2 ? peak1 : peak2))"
  rm -rf "$folder/tables"
done
