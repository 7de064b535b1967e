#!/usr/bin/env bash
# Installs one exact release of precision-gate, builds it from the sources beside this script, or takes the binary that is
# already there, and says where it is.
# In: VERSION; MIRROR, ALLOW_HTTP, SHA256, FROM_SOURCE, PRECISION_GATE_BIN (each may be empty). Out: `bin` in GITHUB_OUTPUT, and PATH.
set -euo pipefail

# Exit code 3, as the gate itself has for an outside world that failed.
fail() { echo "::error title=precision-gate::$1"; exit 3; }
others='name a mirror in the input mirror, a binary in bin, or build with from-source: true (https://github.com/precision-gate/precision-gate/blob/v0.1.0/docs/install.md)'

found() {
  "$1" --version >/dev/null 2>&1 || fail "$1 does not run on this machine ($(uname -sm))"
  echo "bin=$1" >>"$GITHUB_OUTPUT"
  dirname "$1" >>"$GITHUB_PATH"
  exit 0
}

if [ -n "${PRECISION_GATE_BIN:-}" ]; then
  there=$(command -v "$PRECISION_GATE_BIN") || fail "no binary at $PRECISION_GATE_BIN"
  found "$(realpath "$there")"
fi

# A binary of just these sources is kept for the next job.
if [ "${FROM_SOURCE:-}" = true ]; then
  source=$(realpath "$(dirname "$0")/..")
  command -v cargo >/dev/null || fail "from-source needs cargo: install Rust 1.95 (https://rustup.rs), or $others"
  digest=$(cd "$source" && find Cargo.toml Cargo.lock crates src templates -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
  kept=${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:-/tmp}}/precision-gate/$digest-$(uname -m)
  if [ ! -x "$kept/precision-gate" ]; then
    target=$(mktemp -d "${RUNNER_TEMP:-/tmp}/precision-gate.XXXXXX")
    cargo build --release --locked --bin precision-gate --manifest-path "$source/Cargo.toml" --target-dir "$target" ||
      fail "could not build $source with cargo"
    mkdir -p "$kept"
    cp "$target/release/precision-gate" "$kept/precision-gate.new"
    mv "$kept/precision-gate.new" "$kept/precision-gate"
    rm -r "$target"
  fi
  found "$kept/precision-gate"
fi

case "$(uname -s) $(uname -m)" in
  'Linux x86_64') arch=x86_64 ;;
  'Linux aarch64' | 'Linux arm64') arch=aarch64 ;;
  *) fail "no release for $(uname -sm); build it with cargo and name it in the input bin" ;;
esac
[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.-]+)?$ ]] || fail "version must be exact, as in 0.1.0"

releases=${MIRROR:-https://github.com/precision-gate/precision-gate/releases/download}
protocols='=https,file'
if [[ $releases = http://* ]]; then
  [ "${ALLOW_HTTP:-}" = true ] || fail "$releases has no TLS; for a mirror within a private network set allow-http: true, and sha256"
  [ -n "${SHA256:-}" ] || fail "$releases has no TLS: its SHA256SUMS could be changed on the way; give the archive's checksum in the input sha256"
  protocols='=http,https'
fi

archive=precision-gate-$VERSION-$arch-unknown-linux-gnu.tar.gz
folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/precision-gate.XXXXXX")
fetch() {
  curl --fail --silent --show-error --location --retry 3 --proto "$protocols" --output "$folder/$1" \
    "$releases/v$VERSION/$1" || fail "could not fetch $releases/v$VERSION/$1: $others"
}

fetch "$archive"
expected=${SHA256:-}
if [ -z "$expected" ]; then
  fetch SHA256SUMS
  expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$folder/SHA256SUMS")
  [ -n "$expected" ] || fail "SHA256SUMS of version $VERSION does not name $archive"
fi
actual=$(sha256sum "$folder/$archive" | cut -d' ' -f1)
[ "$actual" = "$expected" ] || fail "$archive has the checksum $actual, expected $expected: it is not what was released"

tar -xzf "$folder/$archive" -C "$folder" precision-gate
rm "$folder/$archive"
found "$folder/precision-gate"
