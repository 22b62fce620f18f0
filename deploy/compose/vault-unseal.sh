#!/bin/sh
# Initialises Vault once, and unseals it whenever it has restarted.
#
# This is for evaluation only. All who can read the volume have the unseal key and the root token, and can decrypt
# leads. In production, unseal Vault with a cloud KMS or an HSM (auto-unseal), or let several people hold shares of the
# key, and revoke the root token.
set -eu
umask 077
keys=/secrets/vault.json # the unseal key and the root token

initialise() {
	curl -sSf -d '{"secret_shares":1,"secret_threshold":1}' "$VAULT_ADDR/v1/sys/init" >$keys.new && mv $keys.new $keys
}
unseal() {
	sed 's/.*"keys_base64":\["\([^"]*\)".*/{"key":"\1"}/' $keys | curl -sSf -d @- "$VAULT_ADDR/v1/sys/unseal" >/dev/null
}
while true; do
	case $(curl -sS "$VAULT_ADDR/v1/sys/seal-status") in
	*'"initialized":false'*) initialise && echo 'Vault is initialised' ;;
	*'"sealed":true'*) unseal && echo 'Vault is unsealed' ;;
	esac || echo 'trying again' >&2
	sleep 1
done
