#!/usr/bin/env bash
# Installs what Redline needs to build, run and be tested. Running it again changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

# To build.
build=(build-essential pkg-config cmake clang libclang-dev
  libavcodec-dev libavformat-dev libavutil-dev libavfilter-dev libavdevice-dev libswscale-dev libswresample-dev
  libasound2-dev libx11-dev libxtst-dev libxi-dev libxcb1-dev libxrandr-dev libdbus-1-dev libpipewire-0.3-dev
  libwayland-dev libegl-dev libgbm-dev libx11-xcb-dev libxkbcommon-dev libxkbcommon-x11-dev libxcb-shm0-dev
  libxcb-randr0-dev)
# To demonstrate and test on a machine without screen and sound card, with a real viewer, voice and browser.
run=(python3 python3-venv git curl ca-certificates
  xvfb openbox picom xdotool x11-utils x11-xserver-utils x11-apps xterm pulseaudio pulseaudio-utils libasound2-plugins
  alsa-utils sox ffmpeg f3d freecad espeak-ng flite fonts-dejavu-core chromium chromium-driver)

say() { printf '%s\n' "$*" >&2; }

if ! command -v cargo >/dev/null 2>&1; then
  say "error: Rust is missing: install it with rustup (https://rustup.rs), then run make setup again"
  exit 1
fi

if ! command -v apt-get >/dev/null 2>&1; then
  say "This is not a Debian system, so nothing was installed. Install the counterparts of these packages, then run make setup again"
  say "with REDLINE_SKIP_PACKAGES=1:"
  say "  to build: ${build[*]}"
  say "  to run the demo and the tests: ${run[*]} nodejs npm"
  [ -n "${REDLINE_SKIP_PACKAGES:-}" ] || exit 1
fi

# Node.js may come from elsewhere than Debian; take it as it is.
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || run+=(nodejs npm)

if [ -z "${REDLINE_SKIP_PACKAGES:-}" ]; then
  missing=()
  for p in "${build[@]}" "${run[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
  done
  if [ "${#missing[@]}" -gt 0 ]; then
    say "Installing ${#missing[@]} packages: ${missing[*]}"
    root=()
    if [ "$(id -u)" -ne 0 ]; then
      command -v sudo >/dev/null 2>&1 || { say "error: packages are missing and there is no sudo; as root: apt-get install ${missing[*]}"; exit 1; }
      root=(sudo)
    fi
    "${root[@]}" apt-get update -qq
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
fi

# Python readers for the tests, and what the model step needs. The stamp makes a second run quick.
stamp=.venv/.requirements.sha256
want=$(sha256sum scripts/requirements.txt | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
  say "Installing the Python packages of scripts/requirements.txt into .venv"
  python3 -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check -r scripts/requirements.txt
  printf '%s' "$want" >"$stamp"
fi

# Browser tests.
if [ -f tests/browser/package-lock.json ] && ! cmp -s tests/browser/package-lock.json tests/browser/node_modules/.lock; then
  say "Installing the browser driver of tests/browser"
  npm ci --prefix tests/browser --silent --no-fund --no-audit
  cp tests/browser/package-lock.json tests/browser/node_modules/.lock
fi

# Speech and alignment models, checked by SHA-256; skipped when they are there.
.venv/bin/python scripts/fetch_models.py

say "Ready: make demo, make test"
