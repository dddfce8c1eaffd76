#!/bin/sh
# Install Debian's Chromium and PostgreSQL, for the tests of the report and of SQL, where
# that can be done without asking for a password. Without them these tests are skipped.
wanted=""
command -v chromium >/dev/null || wanted="chromium"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || wanted="$wanted postgresql"
[ -z "$wanted" ] && exit 0
if command -v apt-get >/dev/null; then
    if [ "$(id -u)" -eq 0 ]; then as_root=""; else as_root="sudo -n"; fi
    if $as_root apt-get update -qq && $as_root apt-get install -y -qq $wanted >/dev/null; then
        exit 0
    fi
fi
echo "Could not install $wanted: the tests that need it are skipped." >&2
