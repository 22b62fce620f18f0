#!/bin/sh
# Runs before the package is removed, but not before an upgrade. rpm passes the number of versions that remain.
set -e
case "$1" in
0 | remove)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now pingpost
	fi
	;;
esac
