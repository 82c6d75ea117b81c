#!/bin/sh
# Installs what Greenwright's tests and demonstration need on a Debian or
# Ubuntu machine, when it may; else prints the exact command. Quick and silent
# when nothing is missing.
set -eu

missing=""
need() { # program, package
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need bwrap bubblewrap
need redis-server redis-server
need git git

if ! command -v go >/dev/null 2>&1; then
	echo "setup: Go 1.26 or newer is needed: see https://go.dev/doc/install" >&2
	exit 1
fi
# gVisor's runsc, built from its Go module: Debian's package is of 2022. The
# first time takes a minute or two; without it sandboxes are bubblewrap's.
runsc_module=gvisor.dev/gvisor/runsc
runsc_version=v0.0.0-20260905035102-160fafc42237
build_runsc() {
	if [ -n "${GREENWRIGHT_SKIP_RUNSC:-}" ] || [ "$(uname -s)" != Linux ]; then
		return 0
	fi
	if [ -x bin/runsc ] && go version -m bin/runsc 2>/dev/null | grep -q "$runsc_version"; then
		return 0
	fi
	echo "setup: building gVisor's runsc once; this takes a minute or two (GREENWRIGHT_SKIP_RUNSC=1 leaves it out)"
	mkdir -p bin
	if ! GOFLAGS= GOBIN="$(pwd)/bin" CGO_ENABLED=0 go install -trimpath -ldflags='-s -w' "$runsc_module@$runsc_version"; then
		echo "setup: runsc could not be built: sandboxes will be bubblewrap's. To try again:" >&2
		echo "    GOBIN=$(pwd)/bin CGO_ENABLED=0 go install $runsc_module@$runsc_version" >&2
	fi
}

if [ -z "$missing" ]; then
	build_runsc
	exit 0
fi

install="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: missing:$missing. Install them with this system's package manager, then try again." >&2
	exit 1
fi
if [ "$(id -u)" = 0 ]; then
	sudo=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
	sudo="sudo"
else
	echo "setup: missing:$missing. Run this, then try again:" >&2
	echo "    sudo apt-get update && sudo $install" >&2
	exit 1
fi
echo "setup: installing$missing"
# RUNLEVEL=1 keeps the packages from starting services: only the programs are wanted.
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
if ! $sudo apt-get update -qq >/dev/null || ! $sudo env RUNLEVEL=1 $install >/dev/null; then
	echo "setup: that went wrong. Run this, read what it says, then try again:" >&2
	echo "    $sudo apt-get update && $sudo $install" >&2
	exit 1
fi
build_runsc
