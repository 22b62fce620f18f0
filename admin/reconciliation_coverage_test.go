package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/models"
)

// The page and the exported file show which leads were left out, and a comparison with
// all leads of the period reports them as missing.
func TestReconciliationShowsWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	pound, price := b.deliver(t, b.harbour())
	euro, _ := b.deliverFrom(t, b.harbour(), "DE")
	at := b.given(t, "harbour-leads", "leadId,amount,currency", pound+","+price.Decimal()+",GBP")
	b.get(t, at).says(t, http.StatusOK, `name="coverage" value="file" checked`)
	b.compared(t, at, b.inColumns(t, at))

	b.get(t, at).says(t, http.StatusOK, "1 lead in GBP", "1 lead in EUR", `href="`+at+`?finding=left_out#lines"`)
	b.get(t, at+"?finding=left_out").says(t, http.StatusOK, euro)
	if p := b.get(t, at+"?finding=missing"); strings.Contains(p.body, euro) {
		t.Error("a lead in a currency that the file does not have is missing from it")
	}
	if p := b.get(t, at+"/lines.csv?finding=left_out"); p.status != http.StatusOK || !strings.Contains(p.body, "\n,left_out,currency_not_in_file,"+euro+",") {
		t.Errorf("%d %s", p.status, p.body)
	}

	form := b.inColumns(t, at)
	form.Set("coverage", "some")
	b.post(t, at+"/compare", form).says(t, http.StatusUnprocessableEntity, `id="f-coverage-error"`)
	form.Set("coverage", "all")
	b.compared(t, at, form)
	b.get(t, at).says(t, http.StatusOK, "2 leads in all currencies", `name="coverage" value="all" checked`)
	b.get(t, at+"?finding=missing").says(t, http.StatusOK, euro)

	form = b.inColumns(t, at)
	b.compared(t, at, form)
	if p := b.post(t, at+"/keep", url.Values{"version": {b.version(t, at)}}); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	if n := b.count(t, "reconciliation_lines", `finding = 'left_out'`); n != 1 || b.stateOf(t, at) != models.ReconciliationKept {
		t.Errorf("%d lines, %s", n, b.stateOf(t, at))
	}
	if p := b.get(t, at+"?finding=left_out"); strings.Contains(p.body, "/settle") {
		t.Error("a lead that was left out can be settled")
	}
	if p := b.get(t, at+"/lines/2/settle"); p.status != http.StatusNotFound {
		t.Errorf("settling a lead that was left out: %d", p.status)
	}
}
