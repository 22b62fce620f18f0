#!/bin/sh
# Creates the secrets, once, and writes each to the volumes of the services that read it. No other service starts before
# this has succeeded.
set -eu
umask 077
[ ! -e /secrets/operator/complete ] || exit 0
cd "$(mktemp -d)"

# give UID FILE TARGET...: copies a file to volumes. Only this user can read the copies.
give() {
	owner=$1 file=$2
	shift 2
	for target in "$@"; do install -m 0400 -o "$owner" -g "$owner" "$file" "/secrets/$target"; done
}
# The users of the images.
postgres=999 vault=100 haproxy=99 grafana=472 pingpost=65532

# A private CA and the certificates that it issues. The CA's key is not kept.
key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
openssl req $key -keyout ca.key -x509 -days 3650 -out ca.crt -subj '/CN=pingpost compose'
for name in postgres vault haproxy; do
	openssl req $key -keyout $name.key -out $name.csr -subj /CN=$name -addext "subjectAltName=DNS:$name,DNS:localhost"
	openssl x509 -req -in $name.csr -copy_extensions copy -CA ca.crt -CAkey ca.key -days 3650 -out $name.crt
done
cat haproxy.crt haproxy.key >haproxy.pem
give $postgres postgres.crt postgres/server.crt
give $postgres postgres.key postgres/server.key
give $vault vault.crt vault/server.crt
give $vault vault.key vault/server.key
give $haproxy haproxy.pem haproxy/haproxy.pem
for volume in operator api console haproxy; do install -m 0444 ca.crt /secrets/$volume/ca.crt; done

# Postgres. The superuser's password is in a file for psql.
for role in postgres pingpost_owner pingpost_app; do
	openssl rand -hex 24 | tr -d '\n' >$role
	echo "postgres://$role:$(cat $role)@postgres/pingpost?sslmode=verify-full&sslrootcert=/secrets/ca.crt" >$role-url
done
echo "postgres:5432:*:postgres:$(cat postgres)" >pgpass
give $postgres postgres postgres/password
give 0 pgpass operator/pgpass
give 0 pingpost_owner operator/owner-password
give 0 pingpost_app operator/app-password
give $pingpost pingpost_owner-url operator/owner-database-url
give $pingpost pingpost_app-url api/database-url console/database-url

# The platform key, the SecretIDs of the nodes' AppRoles, and the password for Grafana.
openssl rand -base64 32 >platform-keys
give $pingpost platform-keys api/platform-keys console/platform-keys
for role in api console console-read; do
	openssl rand -hex 24 | tr -d '\n' >$role
	give 0 $role operator/$role-secret-id
done
give $pingpost api api/vault-secret-id
give $pingpost console console/vault-secret-id
give $pingpost console-read console/vault-read-secret-id
openssl rand -hex 12 >grafana
give $grafana grafana grafana/password

install -d -m 0700 -o $pingpost -g $pingpost /secrets/journal
touch /secrets/operator/complete
