#!/usr/bin/env bash
# Takes the picture of the README anew: runs the quickstart, and photographs the first screen of its page.
#   examples/quickstart/picture.sh [BINARY]
# Without a binary cargo builds one. Needs Chromium (Debian's package `chromium`, or the program that
# CHROMIUM names), and makes a smaller file with ImageMagick.
set -euo pipefail
cd "$(dirname "$0")/../.."
repository=$PWD
program=${1:-}
if [ -z "$program" ]; then
  cargo build --quiet --locked
  program=target/debug/precision-gate
fi
program=$(realpath "$program")

# In a folder of its own, so that the page names the paths that a reader of the README has.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$repository/examples" "$folder/examples"
cd "$folder"
"$program" run --baseline examples/quickstart/gpu --candidate examples/quickstart/npu --no-history --quiet || [ $? -eq 1 ]
picture=$repository/docs/images/quickstart-page.png
"${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1366,768 \
  --screenshot="$picture" "file://$folder/precision-gate-out/report.html" 2>/dev/null
# 256 colours are enough, and a third of the bytes.
if convert -version 2>/dev/null | grep -q ImageMagick; then convert "$picture" -colors 256 -strip "png8:$picture"; fi
