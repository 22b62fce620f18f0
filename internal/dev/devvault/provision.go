package devvault

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/vault/api"
)

// These are the names in Vault that docs/how-to/prepare-vault.md uses.
const (
	Mount     = "transit"
	Key       = "pingpost-leads"
	AuthMount = "approle"
	// Serve is the role of nodes, and can only encrypt. Nodes that serve the console also use the role
	// Read, which can only decrypt. Commands that decrypt leads use the role Rewrap, which can also
	// encrypt and rewrap. Rotate can only create a new key version.
	// Expire can only delete old key versions.
	Serve  = "pingpost-serve"
	Read   = "pingpost-read"
	Rewrap = "pingpost-rewrap"
	Rotate = "pingpost-rotate"
	Expire = "pingpost-expire"
)

// Identity contains the RoleID and SecretID that a role logs in with.
type Identity struct {
	RoleID   string `json:"role_id"`
	SecretID string `json:"secret_id"`
}

// policies returns the policy of each role.
func policies() map[string]string {
	const key = Mount + "/keys/" + Key
	allow := func(paths ...string) (policy string) {
		for _, path := range paths {
			policy += fmt.Sprintf("path %q { capabilities = [\"update\"] }\n", path)
		}
		return policy
	}
	return map[string]string{
		Serve:  allow(Mount + "/encrypt/" + Key),
		Read:   allow(Mount + "/decrypt/" + Key),
		Rewrap: allow(Mount+"/encrypt/"+Key, Mount+"/decrypt/"+Key, Mount+"/rewrap/"+Key),
		Rotate: allow(key + "/rotate"),
		Expire: fmt.Sprintf("path %q { capabilities = [\"read\"] }\n", key) +
			fmt.Sprintf("path %q {\n capabilities = [\"update\"]\n allowed_parameters = { \"min_decryption_version\" = [], \"min_encryption_version\" = [] }\n}\n", key+"/config") +
			allow(key+"/trim"),
	}
}

// Provision creates the engine, the key, the policies and the roles in Vault, as in
// docs/how-to/prepare-vault.md. It returns a map from the name of each role to the role's identity. If
// backup is not empty, the key is restored from it.
func (s *Server) Provision(ctx context.Context, backup string) (map[string]Identity, error) {
	root, err := s.Root()
	if err != nil {
		return nil, err
	}
	do := func(path string, data map[string]any) {
		if err == nil {
			_, err = root.Logical().WriteWithContext(ctx, path, data)
		}
	}
	do("sys/mounts/"+Mount, map[string]any{"type": "transit"})
	do("sys/auth/"+AuthMount, map[string]any{"type": "approle"})
	if backup != "" {
		do(Mount+"/restore/"+Key, map[string]any{"backup": backup})
	} else {
		do(Mount+"/keys/"+Key, map[string]any{"type": "aes256-gcm96"})
	}
	found := map[string]Identity{}
	for name, policy := range policies() {
		do("sys/policies/acl/"+name, map[string]any{"policy": policy})
		do("auth/"+AuthMount+"/role/"+name, map[string]any{
			"token_policies":          name,
			"token_no_default_policy": true,
			"token_ttl":               "1h",
			"token_max_ttl":           "1h",
		})
		if err != nil {
			break
		}
		if found[name], err = identity(ctx, root, name); err != nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("preparing Vault: %w", err)
	}
	return found, nil
}

// Backup returns the key with all its versions, in plaintext, so that the leads in a data folder
// can still be read after Vault has stopped. It is only for development. In production, the key
// does not allow plaintext backups; see docs/how-to/prepare-vault.md.
func (s *Server) Backup(ctx context.Context) (string, error) {
	root, err := s.Root()
	if err != nil {
		return "", err
	}
	allow := map[string]any{"exportable": true, "allow_plaintext_backup": true}
	if _, err := root.Logical().WriteWithContext(ctx, Mount+"/keys/"+Key+"/config", allow); err != nil {
		return "", err
	}
	saved, err := root.Logical().ReadWithContext(ctx, Mount+"/backup/"+Key)
	if err != nil {
		return "", err
	}
	backup, _ := saved.Data["backup"].(string)
	if backup == "" {
		return "", errors.New("the Vault server returned no backup of the key")
	}
	return backup, nil
}

func identity(ctx context.Context, root *api.Client, role string) (i Identity, err error) {
	path := "auth/" + AuthMount + "/role/" + role
	id, err := root.Logical().ReadWithContext(ctx, path+"/role-id")
	if err != nil {
		return i, err
	}
	secret, err := root.Logical().WriteWithContext(ctx, path+"/secret-id", nil)
	if err != nil {
		return i, err
	}
	i.RoleID, _ = id.Data["role_id"].(string)
	i.SecretID, _ = secret.Data["secret_id"].(string)
	return i, nil
}

// Root returns a client with the root token.
func (s *Server) Root() (*api.Client, error) {
	config := api.DefaultConfig()
	if config.Error != nil {
		return nil, config.Error
	}
	config.Address = s.Address
	root, err := api.NewClient(config)
	if err != nil {
		return nil, err
	}
	root.ClearNamespace()
	root.SetToken(s.RootToken)
	return root, nil
}
