#!/bin/sh
# Runs after the package was removed. Configuration, secrets and the user remain, except after a purge.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ]; then
	rm -rf /etc/pingpost /var/lib/pingpost
fi
