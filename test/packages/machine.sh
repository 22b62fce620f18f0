#!/usr/bin/env bash
# Installs, starts, upgrades, removes and purges the package, as an operator would. Runs as root on a machine that
# systemd has started, with the packages first.deb and second.deb in the current folder.
set -euxo pipefail
PATH=$PATH:/usr/sbin:$(echo /usr/lib/postgresql/*/bin)

fails() { if "$@"; then echo "unexpected success: $*"; exit 1; fi; }
property() { systemctl show --value --property "$1" pingpost; }
ready() { curl -sS --retry 60 --retry-delay 1 --retry-all-errors --fail -o /dev/null http://127.0.0.1:8082/readyz; }
mode() { stat --format '%U:%G %a' "$1"; }

dpkg --install first.deb
[ "$(mode /etc/pingpost)" = 'root:pingpost 750' ]
[ "$(mode /usr/bin/pingpost)" = 'root:root 755' ]
[ "$(id --user pingpost)" -lt 1000 ]
fails systemctl is-enabled pingpost
fails systemctl is-active pingpost
systemd-analyze verify pingpost.service
systemd-analyze security --threshold=20 pingpost.service # 2.0
dpkg --listfiles pingpost | grep --quiet man1/pingpost-serve.1.gz
fails pingpost config check --config /etc/pingpost/pingpost.yaml # there are no keys and no database yet

# A Postgres server, with the database of docs/how-to/deploy.md.
install --directory --owner postgres /var/lib/package-test
runuser --user postgres -- initdb --pgdata /var/lib/package-test/data --auth trust --no-sync >/dev/null
runuser --user postgres -- pg_ctl --pgdata /var/lib/package-test/data --silent --wait \
	--options '-k /var/lib/package-test -p 54329 -c max_locks_per_transaction=256' --log /var/lib/package-test/log start
psql 'postgres://postgres@127.0.0.1:54329/postgres' --set ON_ERROR_STOP=1 <<'SQL'
CREATE ROLE pingpost_owner LOGIN;
CREATE ROLE pingpost_app LOGIN;
CREATE DATABASE pingpost OWNER pingpost_owner ENCODING 'UTF8' TEMPLATE template0;
SQL
PINGPOST_DATABASE_URL=postgres://pingpost_owner@127.0.0.1:54329/pingpost pingpost migrate up

# The keys and settings.
(
	umask 077
	openssl rand -base64 32 >/etc/pingpost/platform-keys
	openssl rand -base64 32 >/etc/pingpost/lead-vault-kek
	printf 'postgres://pingpost_app@127.0.0.1:54329/pingpost' >/etc/pingpost/database-url
	chown pingpost: /etc/pingpost/platform-keys /etc/pingpost/lead-vault-kek /etc/pingpost/database-url
)
sed --in-place 's|# public_url:.*|public_url: https://leads.example.com|; s|# admin_url:.*|admin_url: https://console.example.com|' \
	/etc/pingpost/pingpost.yaml
pingpost config check --config /etc/pingpost/pingpost.yaml
settings=$(sha256sum /etc/pingpost/pingpost.yaml)
fails runuser --user nobody -- cat /etc/pingpost/platform-keys

systemctl enable --now pingpost
ready
node=$(property MainPID)
[ "$(ps -o user= -p "$node")" = pingpost ]
[ "$(mode /var/lib/pingpost)" = 'pingpost:pingpost 700' ]
curl -sS http://127.0.0.1:8082/metrics | grep '^process_start_time_seconds '

# An upgrade does not restart the node, because migrations come first.
dpkg --install second.deb
[ "$(dpkg-query --show --showformat '${Version}' pingpost)" != "$(dpkg-deb --field first.deb Version)" ]
[ "$(property MainPID)" = "$node" ]
[ "$(sha256sum /etc/pingpost/pingpost.yaml)" = "$settings" ]
PINGPOST_DATABASE_URL=postgres://pingpost_owner@127.0.0.1:54329/pingpost pingpost migrate up
systemctl restart pingpost
ready
[ "$(property MainPID)" != "$node" ]

# A crash is followed by a restart.
crashed=$(property MainPID)
kill -KILL "$crashed"
ready
[ "$(property MainPID)" != "$crashed" ]

# The secrets are read again.
node=$(property MainPID)
systemctl reload pingpost
read -r < <(timeout 30 journalctl --unit pingpost --follow --lines all --output cat | grep --max-count 1 'secrets read again')
[ "$(property MainPID)" = "$node" ]

# A stop that takes longer than the unit's own limit, as the settings say.
mkdir -p /etc/systemd/system/pingpost.service.d
printf '[Service]\nTimeoutStopSec=1\n' >/etc/systemd/system/pingpost.service.d/limit.conf
systemctl daemon-reload
systemctl stop pingpost # with the default drain delay of 3 s
[ "$(property Result)" = success ]

systemctl start pingpost
ready
dpkg --remove pingpost
fails systemctl is-active pingpost
fails systemctl is-enabled pingpost
[ -s /etc/pingpost/platform-keys ]
dpkg --purge pingpost
[ ! -e /etc/pingpost/pingpost.yaml ] && [ ! -e /var/lib/pingpost ]
[ -s /etc/pingpost/platform-keys ] # the leads in backups need the keys
