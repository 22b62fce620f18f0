#!/bin/sh
# Creates the engine, its key, the policies and the AppRoles (docs/how-to/prepare-vault.md, steps 1 to 5). It can run
# again. The RoleIDs, which are not secret, are the names of the AppRoles.
set -eu
umask 077
sed 's/.*"root_token":"\([^"]*\)".*/X-Vault-Token: \1/' /secrets/vault.json >/tmp/token
vault() { curl -sSf -H @/tmp/token -X "$1" "$VAULT_ADDR/v1/$2" ${3:+-d "$3"}; }

vault GET sys/mounts | grep -q '"transit/"' || vault POST sys/mounts/transit '{"type":"transit"}'
vault GET sys/auth | grep -q '"approle/"' || vault POST sys/auth/approle '{"type":"approle"}'
vault POST sys/auth/approle/tune '{"user_lockout_config":{"lockout_disable":true}}'
vault POST transit/keys/pingpost-leads '{"type":"aes256-gcm96"}' >/dev/null

allow() { printf 'path \\"transit/%s\\" { capabilities = [\\"update\\"] } ' "$@"; }
policy() { vault PUT "sys/policies/acl/pingpost-$1" "{\"policy\":\"$2\"}"; }
key=keys/pingpost-leads
policy serve "$(allow encrypt/pingpost-leads)"
policy read "$(allow decrypt/pingpost-leads)"
policy rewrap "$(allow encrypt/pingpost-leads decrypt/pingpost-leads rewrap/pingpost-leads)"
policy rotate "$(allow $key/rotate)"
read='path \"transit/keys/pingpost-leads\" { capabilities = [\"read\"] } '
config='path \"transit/keys/pingpost-leads/config\" { capabilities = [\"update\"]
	allowed_parameters = { \"min_decryption_version\" = [], \"min_encryption_version\" = [] } } '
policy expire "$read$(printf %s "$config" | tr '\n\t' '  ')$(allow $key/trim)"

# role NAME POLICY
role() {
	vault POST "auth/approle/role/pingpost-$1" \
		'{"token_policies":"pingpost-'"$2"'","token_no_default_policy":true,"token_ttl":"1h","token_max_ttl":"1h"}'
	vault POST "auth/approle/role/pingpost-$1/role-id" '{"role_id":"pingpost-'"$1"'"}'
}
role api serve
role console serve
role console-read read
role rewrap rewrap
role rotate rotate
role expire expire

# The SecretIDs of the nodes. Vault rejects a SecretID that it already knows.
for name in api console console-read; do
	secret="{\"secret_id\":\"$(cat "/secrets/$name-secret-id")\"}"
	[ -n "$(vault POST "auth/approle/role/pingpost-$name/secret-id/lookup" "$secret")" ] ||
		vault POST "auth/approle/role/pingpost-$name/custom-secret-id" "$secret" >/dev/null
done
