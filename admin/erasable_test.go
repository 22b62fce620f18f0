package admin_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
)

// TestExportsWhileJournalIsAhead requests all routes that export personal data, before and after the erasure
// journal contains an entry that the database does not.
func TestExportsWhileJournalIsAhead(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	h.SamplePartner = h.AddPartner(t, "mine")
	b := h.SignedInEverywhere(t)
	closed := func() (paths []string) {
		for _, r := range admin.Routes(h.Options) {
			if !r.Erasable {
				continue
			}
			p := b.Send(t, r.Method, admintest.FillIn(r.Path, objectID(h, r)), strings.NewReader(admintest.WithFormKey(nil).Encode()),
				http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			if p.Status == http.StatusServiceUnavailable {
				paths = append(paths, r.Path)
				if !strings.Contains(p.Body, "pingpost erasures replay") {
					t.Errorf("%s does not say what to do: %s", r.Path, p.Text())
				}
			}
		}
		slices.Sort(paths)
		return paths
	}
	if paths := closed(); paths != nil {
		t.Errorf("before: %v are closed", paths)
	}
	if err := os.WriteFile(filepath.Join(h.Erasures, "000000000001.json"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/payouts/exports",
		"/payouts/exports/{id}/file",
		"/payouts/ledger.csv",
		"/payouts/runs/{id}/statements/{partner}/entries.csv",
		"/privacy/requests/{id}/export.zip",
		"/reconciliation/{id}/lines.csv",
	}
	if paths := closed(); !slices.Equal(paths, want) {
		t.Errorf("got closed routes %v, want %v", paths, want)
	}
}
