#!/bin/sh
# Install Debian's Chromium where that can be done without asking for a password.
# Without it the tests of the report in a browser are skipped, with this reason.
command -v chromium >/dev/null && exit 0
if command -v apt-get >/dev/null; then
    if [ "$(id -u)" -eq 0 ]; then as_root=""; else as_root="sudo -n"; fi
    if $as_root apt-get update -qq && $as_root apt-get install -y -qq chromium >/dev/null; then
        exit 0
    fi
fi
echo "Chromium could not be installed: the tests of the report in a browser are skipped." >&2
