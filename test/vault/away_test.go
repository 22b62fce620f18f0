package vault

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// console is a signed-in user of a node that uses Vault to decrypt.
type console struct {
	*vaultNode
	*admintest.Client
}

func startConsole(t *testing.T) console {
	t.Helper()
	v := testkit.NewVault(t)
	n := startBehindProxy(t, v, func(n *node.Node) {
		n.Config.Vault.ReadRoleID, n.Config.Vault.ReadSecretID = v.Roles[devvault.Read].RoleID, config.Secret(v.Roles[devvault.Read].SecretID)
		n.Config.Privacy.ErasureJournal = t.TempDir()
		n.Config.Retention.ContactDays = retainedDays
		n.Config.Console.SecondFactorRoles = nil
	})
	const email = "fay@example.com"
	people := staff.NewService(n.DB.DB, n.Keys, n.Clock, staff.Settings{PasswordCost: testkit.CheapPasswords()})
	_, err := people.By(audit.Operator).Seed(t.Context(), staff.NewMember{
		Email: email, Name: "Fay Moss", Roles: []models.StaffRole{{Role: models.Finance}, {Role: models.Privacy}},
	}, admintest.Password)
	if err != nil {
		t.Fatal(err)
	}
	c := console{n, admintest.SignedInAt(t, n.Admin, email)}
	// On a platform that has leads, a user would have to put the periods into effect.
	testkit.Eventually(t, node.Patience, "the retention periods are in effect",
		func() bool { return c.count(t, "retention_periods", "true") > 0 })
	return c
}

// submit submits a form with the user's password.
func (c console) submit(t *testing.T, path string, form url.Values) admintest.Response {
	t.Helper()
	form.Set("proof", admintest.Password)
	return c.Post(t, path, form)
}

func (c console) reveal(t *testing.T, lead string) admintest.Response {
	t.Helper()
	return c.submit(t, "/leads/"+lead+"/reveal", url.Values{"field": {"email"}, "reason": {"legal"}})
}

// count returns the number of rows in a table that meet a condition.
func (c console) count(t *testing.T, table, where string) int {
	t.Helper()
	return testkit.Value[int](t, c.DB, `SELECT count(*) FROM `+table+` WHERE `+where)
}

// expectKeys fails the test unless the response says that the keys cannot be used.
func expectKeys(t *testing.T, what string, p admintest.Response) {
	t.Helper()
	if p.Status != http.StatusServiceUnavailable || !slices.Equal(p.Codes(), []string{"keys"}) {
		t.Errorf("%s: got %d, %v, want 503 with the code keys: %s", what, p.Status, p.Codes(), p.Text())
	}
}

const retainedDays = 30

// retain carries out a retention run, as if 40 days had passed.
func (c console) retain(t *testing.T) models.RetentionRun {
	t.Helper()
	keys, err := app.OpenKeysUnpooled(c.Config, nil, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	later := clock.NewManual(c.Clock.Now().AddDate(0, 0, 40))
	s := app.NewPrivacy(c.Config, c.DB.DB, testkit.NewQueue(c.DB.DB, later), keys.Readers, c.Keys, journal.Folder(c.Config.Privacy.ErasureJournal), nil,
		later)
	run, err := s.Retention.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestPersonalDataWithoutVault checks that nothing is half done if Vault does not respond. Reveals, exports for
// consumers and evidence packs with contact data are rejected, and work again as soon as Vault responds. Erasures
// and retention runs do not need Vault.
func TestPersonalDataWithoutVault(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*testing.T, console) (restore func()){
		"cut":    func(t *testing.T, c console) func() { c.network.Down(); return func() { c.network.Up(t) } },
		"sealed": func(t *testing.T, c console) func() { c.vault.Seal(t); return func() { c.vault.Unseal(t) } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startConsole(t)
			defer c.Close(t) // without CheckStopped, which does not know that erasures delete pings
			var leads []string
			for range 3 {
				leads = append(leads, c.Deliver(t, c.Required, node.MinimalPost).LeadID)
			}
			held, erased, evidence := leads[0], leads[1], "/leads/"+leads[0]+"/evidence"
			c.reveal(t, held).Expect(t, "reveal", http.StatusOK, node.PersonEmail)
			c.submit(t, "/leads/"+held+"/hold", url.Values{"person": {"no"}, "reason": {"case 7"}}).
				ExpectRedirect(t, "/leads/"+held)
			request := c.submit(t, "/privacy/requests/new", url.Values{
				"kind": {"access"}, "received_on": {c.Clock.Now().UTC().Format(time.DateOnly)}, "email": {node.PersonEmail},
			}).ExpectCreated(t, "/privacy/requests/pr_")
			c.submit(t, request+"/identity", url.Values{"identity": {"reply"}}).ExpectRedirect(t, request)

			restore := disturb(t, c)
			expectKeys(t, "reveal", c.reveal(t, erased))
			expectKeys(t, "export", c.submit(t, request+"/export", url.Values{}))
			expectKeys(t, "evidence with contact data", c.submit(t, evidence, url.Values{"contact": {"yes"}}))
			c.Get(t, request).Expect(t, "the request", http.StatusOK, `data-state="open"`, `data-leads="3"`)
			if files, packs := c.count(t, "files", "true"), c.count(t, "audit_events", "action = 'lead.evidence'"); files != 0 ||
				packs != 0 {
				t.Errorf("%d files and %d packs were stored, want none", files, packs)
			}
			if n := c.count(t, "lead_reveals", "true"); n != 2 {
				t.Errorf("%d reveals were recorded, want 2", n)
			}
			if pack := c.submit(t, evidence, url.Values{}); pack.Status != http.StatusOK || !strings.HasPrefix(pack.Body, "PK") {
				t.Errorf("evidence without contact data: got %d: %s", pack.Status, pack.Text())
			}
			c.submit(t, "/leads/"+erased+"/erase", url.Values{"reason": {"legal"}}).ExpectRedirect(t, "/leads/"+erased)
			if run := c.retain(t); run.EndedAt == nil || run.Erased[models.RetainContact]["GB"] != 1 {
				t.Errorf("got the retention run %+v, want one erased lead", run)
			}
			if left := c.count(t, "lead_keys", "true"); left != 1 {
				t.Errorf("got %d keys, want that of the lead under a legal hold", left)
			}

			restore()
			testkit.Eventually(t, node.Patience, "the lead can be revealed",
				func() bool { return c.reveal(t, held).Status == http.StatusOK })
			c.submit(t, request+"/export", url.Values{}).Expect(t, "export", http.StatusOK, request+`/export.zip`)
			c.Get(t, request+"/export.zip").Expect(t, "the download", http.StatusOK)
			c.Get(t, request).Expect(t, "the request", http.StatusOK, `data-state="exported"`)
			if pack := c.submit(t, evidence, url.Values{"contact": {"yes"}}); pack.Status != http.StatusOK ||
				!strings.Contains(pack.Body, node.PersonEmail) {
				t.Errorf("evidence with contact data: got %d: %s", pack.Status, pack.Text())
			}
			if files := c.count(t, "files", "complete"); files != 1 {
				t.Errorf("got %d files, want the export", files)
			}
		})
	}
}
