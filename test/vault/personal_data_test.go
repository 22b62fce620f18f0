package vault

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/test/node"
)

// TestPersonalDataAndSecretsAreUnreadable searches for personal data and secrets in all of
// Postgres's files (including the write-ahead log and the server log), in the service's log,
// metrics and tables, and in Vault's log.
func TestPersonalDataAndSecretsAreUnreadable(t *testing.T) {
	t.Parallel()
	n := startWithVault(t)
	full := strings.Replace(node.MinimalPost, `"email":"`+node.PersonEmail+`"`,
		`"email":"`+node.PersonEmail+`","phone":"`+node.PersonLocal+`","phoneE164":"`+node.PersonPhone+
			`","name":"Ottilie Quillfeather"`, 1)
	full = strings.Replace(full, `{"transactionId"`,
		`{"notes":"`+node.PersonNotes+`","address":"`+node.PersonAddress+
			`","answers":{"who":"Ottilie Quillfeather"},"transactionId"`,
		1)
	for range 3 {
		n.Deliver(t, n.Required, full)
	}
	wrong := n.Signed(n.Required, full)
	wrong.SetHeader("X-Signature-SHA256", strings.Repeat("0", 64))
	n.Send(t, wrong)
	n.vault.Seal(t) // failures are also logged
	n.status(n.Ops + "/readyz")
	n.vault.Unseal(t)
	n.Ping(t, "", `{"industry":"plumber","postcode":"QF1 2ZZ"}`) // stored unencrypted, so the search must find it
	vaultLog := n.vault.Log.String()

	canaries := n.Secrets()
	for what, text := range map[string]string{
		"the email":               node.PersonEmail,
		"the name":                "Ottilie Quillfeather",
		"the address":             node.PersonAddress,
		"the notes":               node.PersonNotes,
		"the SecretID":            n.Config.Vault.SecretID.Reveal(),
		"Vault's root token":      n.vault.RootToken,
		"Vault's unseal key":      n.vault.UnsealKey,
		"another role's SecretID": n.vault.Roles[devvault.Rewrap].SecretID,
	} {
		canaries[what] = text
	}
	n.CheckNoPersonalData(t) // also stops the node, so that everything has been written
	var folder string
	if err := n.Root.QueryRow(t.Context(), `SELECT current_setting('data_directory')`).Scan(&folder); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Root.Exec(t.Context(), `CHECKPOINT`); err != nil {
		t.Fatal(err)
	}
	foundPostcode := false
	err := filepath.WalkDir(filepath.Dir(folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // the file has been removed since, or it is a socket
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // the file has been removed since
		}
		foundPostcode = foundPostcode || bytes.Contains(content, []byte("QF1 2ZZ"))
		for what, canary := range canaries {
			if canary != "" && what != "the database's password" && bytes.Contains(content, []byte(canary)) {
				t.Errorf("found %s in %s", what, strings.TrimPrefix(path, filepath.Dir(folder)))
			}
		}
		return nil
	})
	if err != nil || !foundPostcode {
		t.Errorf("the database's files were not searched completely: %v", err)
	}
	for what, canary := range canaries {
		for where, text := range map[string]string{"Vault's log": vaultLog, "the service's log": n.Log.String()} {
			if canary != "" && strings.Contains(text, canary) {
				t.Errorf("found %s in %s", what, where)
			}
		}
	}
}
