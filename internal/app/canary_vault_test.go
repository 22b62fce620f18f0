package app_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/devvault"
)

// Nothing that is personal or secret can be read outside the service: not in the
// database's files, its write-ahead log and its own log included, not in the
// service's log, metrics and tables, and not in Vault's log.
func TestNothingIsReadableOutside(t *testing.T) {
	t.Parallel()
	n := startVaulted(t)
	full := strings.Replace(leastPost, `"email":"`+personEmail+`"`,
		`"email":"`+personEmail+`","phone":"`+personLocal+`","phoneE164":"`+personPhone+`","name":"Ottilie Quillfeather"`, 1)
	full = strings.Replace(full, `{"transactionId"`, `{"notes":"`+personNotes+`","address":"`+personAddress+`","answers":{"who":"Ottilie Quillfeather"},"transactionId"`, 1)
	for range 3 {
		n.deliver(t, n.required, full)
	}
	wrong := n.signed(n.required, full)
	wrong.set("X-Signature-SHA256", strings.Repeat("0", 64))
	n.send(t, wrong)
	n.vault.Seal(t) // what fails is logged, too
	n.status(n.ops + "/readyz")
	n.vault.Unseal(t)
	n.ping(t, "", `{"industry":"plumber","postcode":"QF1 2ZZ"}`) // a postcode is kept in clear: the control
	vaultLog := n.vault.Log.String()

	canaries := n.secrets()
	for what, text := range map[string]string{
		"the e-mail": personEmail, "the name": "Ottilie Quillfeather", "the address": personAddress, "the notes": personNotes,
		"the SecretID": n.cfg.Vault.SecretID.Reveal(), "Vault's root token": n.vault.RootToken, "Vault's unseal key": n.vault.UnsealKey,
		"another role's SecretID": n.vault.Roles[devvault.Rewrap].SecretID,
	} {
		canaries[what] = text
	}
	n.leavesNoTrace(t) // also stops it: everything is written
	var folder string
	if err := n.root.QueryRow(t.Context(), `SELECT current_setting('data_directory')`).Scan(&folder); err != nil {
		t.Fatal(err)
	}
	if _, err := n.root.Exec(t.Context(), `CHECKPOINT`); err != nil {
		t.Fatal(err)
	}
	control := false
	err := filepath.WalkDir(filepath.Dir(folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // gone by now, or a socket
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // gone by now
		}
		control = control || bytes.Contains(content, []byte("QF1 2ZZ"))
		for what, canary := range canaries {
			if canary != "" && what != "the database's password" && bytes.Contains(content, []byte(canary)) {
				t.Errorf("%s is in %s", what, strings.TrimPrefix(path, filepath.Dir(folder)))
			}
		}
		return nil
	})
	if err != nil || !control {
		t.Errorf("the database's files were not searched: %v", err)
	}
	for what, canary := range canaries {
		for where, text := range map[string]string{"Vault's log": vaultLog, "the service's log": n.log.String()} {
			if canary != "" && strings.Contains(text, canary) {
				t.Errorf("%s is in %s", what, where)
			}
		}
	}
}
