#!/usr/bin/env bash
# Install the peers of the benchmark from npm, PyPI and Debian into this folder.
# This script never fails. A missing peer has no figures, and bench/peers.md mentions it.
set -u
cd "$(dirname "$0")" || exit

packages=()
needs() { command -v "$1" >/dev/null || packages+=("$2"); }
needs node nodejs
needs npm npm
needs java default-jre-headless
needs taskset util-linux
if [ ${#packages[@]} != 0 ]; then
  if [ "$(id -u)" = 0 ]; then as=(); elif sudo -n true 2>/dev/null; then as=(sudo -n); else as=(false); fi
  if command -v apt-get >/dev/null && [ "${as[*]-}" != false ]; then
    echo "Installing ${packages[*]}"
    "${as[@]}" apt-get update -qq
    "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${packages[@]}" >/dev/null
  else
    echo "Cannot install ${packages[*]} here." >&2
  fi
fi

if command -v npm >/dev/null && ! cmp -s package.json node_modules/.installed; then
  echo "Installing mockttp, WireMock and MockServer"
  if npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts; then
    cp package.json node_modules/.installed
  else
    echo "npm cannot install them." >&2
  fi
fi

if ! cmp -s requirements.txt .venv/.installed; then
  echo "Installing granian"
  ../../.venv/bin/python -m venv --clear .venv &&
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt &&
    cp requirements.txt .venv/.installed || echo "pip cannot install granian." >&2
fi
exit 0
