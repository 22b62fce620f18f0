#!/bin/sh
# Runs after the package was installed or upgraded.
set -e
systemd-sysusers pingpost.conf
# Secrets are files in this folder. Only root and the service can list it.
chown root:pingpost /etc/pingpost
chmod 0750 /etc/pingpost
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	if systemctl is-active --quiet pingpost; then
		# Apply the migrations first: a node with a schema that is too old does not start.
		echo 'pingpost still runs the previous version. Run `pingpost migrate up`, and then `systemctl restart pingpost`.'
	fi
fi
