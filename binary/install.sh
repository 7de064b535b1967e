#!/usr/bin/env bash
# Installs one exact release of precision-gate, or takes the binary that is already there, and says where it is.
# In: VERSION, RELEASES, SHA256 (may be empty), PRECISION_GATE_BIN (may be empty). Out: `bin` in GITHUB_OUTPUT, and PATH.
set -euo pipefail

# Exit code 3, as the gate itself has for an outside world that failed.
fail() { echo "::error title=precision-gate::$1"; exit 3; }

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

case "$(uname -s) $(uname -m)" in
  'Linux x86_64') arch=x86_64 ;;
  'Linux aarch64' | 'Linux arm64') arch=aarch64 ;;
  *) fail "no release for $(uname -sm); build it with cargo and name it in the input bin" ;;
esac
[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.-]+)?$ ]] || fail "version must be exact, as in 0.1.0"

archive=precision-gate-$VERSION-$arch-unknown-linux-gnu.tar.gz
folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/precision-gate.XXXXXX")
fetch() {
  curl --fail --silent --show-error --location --retry 3 --proto '=https,file' --output "$folder/$1" \
    "$RELEASES/v$VERSION/$1" || fail "could not fetch $1 of version $VERSION"
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
