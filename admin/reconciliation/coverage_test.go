package reconciliation_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/models"
)

// The page and the export show the leads that were left out. A comparison with full coverage
// reports them as missing.
func TestReconciliationShowsLeftOutLeads(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	pound, price := b.Deliver(t, b.Harbour())
	euro, _ := b.DeliverFrom(t, b.Harbour(), "DE")
	at := b.UploadPartnerFile(t, "harbour-leads", "leadId,amount,currency", pound+","+price.Decimal()+",GBP")
	b.Get(t, at).ExpectTexts(t, http.StatusOK, `name="coverage" value="file" checked`)
	b.Compare(t, at, b.ColumnForm(t, at))

	b.Get(t, at).ExpectTexts(t, http.StatusOK, `data-compared="1"`,
		`data-lines="1" data-finding="left_out" data-currency="EUR"`,
		`data-lines="1" data-finding="" data-currency="GBP"`, `href="`+at+`?finding=left_out#lines"`)
	b.Get(t, at+"?finding=left_out").ExpectTexts(t, http.StatusOK, euro)
	if p := b.Get(t, at+"?finding=missing"); strings.Contains(p.Body, euro) {
		t.Error("a lead in a currency that is not in the file is reported as missing")
	}
	if p := b.Get(t, at+"/lines.csv?finding=left_out"); p.Status != http.StatusOK ||
		!strings.Contains(p.Body, "\n,left_out,currency_not_in_file,"+euro+",") {
		t.Errorf("lines.csv: got status %d and body %s", p.Status, p.Body)
	}

	form := b.ColumnForm(t, at)
	form.Set("coverage", "some")
	b.Post(t, at+"/compare", form).ExpectTexts(t, http.StatusUnprocessableEntity, `id="f-coverage-error"`)
	form.Set("coverage", "all")
	b.Compare(t, at, form)
	b.Get(t, at).ExpectTexts(t, http.StatusOK, `data-compared="2"`, `name="coverage" value="all" checked`)
	if p := b.Get(t, at+"?finding=missing"); !strings.Contains(p.Body, euro) ||
		slices.Contains(p.Values("data-finding"), "left_out") {
		t.Errorf("got findings %q: %s", p.Values("data-finding"), p.Text())
	}

	form = b.ColumnForm(t, at)
	b.Compare(t, at, form)
	b.Post(t, at+"/save", url.Values{"version": {b.Version(t, at)}}).ExpectRedirect(t, at)
	if n := b.Count(t, "reconciliation_lines", `finding = 'left_out'`); n != 1 || b.StateOf(t, at) != models.ReconciliationSaved {
		t.Errorf("got %d left-out lines and state %s, want 1 and kept", n, b.StateOf(t, at))
	}
	if p := b.Get(t, at+"?finding=left_out"); strings.Contains(p.Body, "/resolve") {
		t.Error("the page has a link to resolve a left-out lead")
	}
	if p := b.Get(t, at+"/lines/2/resolve"); p.Status != http.StatusNotFound {
		t.Errorf("resolving a left-out lead: got status %d, want 404", p.Status)
	}
}
