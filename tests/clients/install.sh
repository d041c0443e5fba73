#!/usr/bin/env bash
# Install the packages that the clients need from Debian and npm. Installed packages are kept.
# This script never fails. The tests of a client that cannot run are skipped with the reason.
set -u
cd "$(dirname "$0")/node" || exit

packages=()
needs() { sh -c "$1" >/dev/null 2>&1 || packages+=("${@:2}"); }
needs 'command -v curl' curl
needs 'command -v node' nodejs
needs 'command -v npm' npm
needs 'command -v java && command -v javac && command -v keytool' default-jdk-headless
needs 'command -v go' golang-go
needs "php -r 'exit((int) !(extension_loaded(\"curl\") && include \"GuzzleHttp/autoload.php\"));'" \
  php-cli php-curl php-guzzlehttp-guzzle
needs 'command -v ruby' ruby
needs 'command -v h2load && command -v nghttp' nghttp2-client
needs 'command -v nvim' neovim  # for the tests of the language server

if [ ${#packages[@]} != 0 ]; then
  if [ "$(id -u)" = 0 ]; then as=(); elif sudo -n true 2>/dev/null; then as=(sudo -n); else as=(false); fi
  if command -v apt-get >/dev/null && [ "${as[*]-}" != false ]; then
    echo "Installing ${packages[*]}"
    "${as[@]}" apt-get update -qq
    for package in "${packages[@]}"; do
      "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package" >/dev/null ||
        echo "$package cannot be installed. The tests of its clients are skipped." >&2
    done
  else
    echo "Cannot install ${packages[*]} here. The tests of these clients are skipped." >&2
  fi
fi

command -v node >/dev/null && command -v npm >/dev/null || exit 0
if ! cmp -s package-lock.json node_modules/.installed; then
  echo "Installing npm packages for the clients"
  if npm ci --silent --no-audit --no-fund; then
    cp package-lock.json node_modules/.installed
  else
    echo "npm cannot install them. The tests of the Node clients are skipped." >&2
  fi
fi

# The version of undici must match the one in Node. Version 6 in package.json is for Node 18 to 22.
inside="$(node -p 'process.versions.undici.split(".")[0]')"
installed="$(node -p 'require("undici/package.json").version.split(".")[0]' 2>/dev/null)"
if [ -n "$installed" ] && [ "$inside" -gt "$installed" ]; then
  npm install --silent --no-audit --no-fund --no-save --no-package-lock "undici@$inside" ||
    echo "npm cannot install undici $inside. The tests of the Node clients may fail." >&2
fi
exit 0
