#!/bin/sh
# Runs after the package was removed. The user and the files that the operator has added remain, even after a purge:
# without the keys, contact records in backups cannot be decrypted.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ]; then
	rm -f /var/lib/pingpost/snapshot
	rmdir --ignore-fail-on-non-empty /etc/pingpost /var/lib/pingpost 2>/dev/null || true
fi
