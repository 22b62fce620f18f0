package reconcile_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

func TestResolveAndExport(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired, partners.NewAccount{Identifier: "acme-1", Name: "1"})
	beta := o.AddPartner(t, "beta", models.SigningRequired)
	lead, price := o.deliver(t, acme, 0)
	two, _ := o.deliver(t, acme, 0)
	theirs, _ := o.deliver(t, beta, 0)
	missing, _ := o.deliver(t, acme, 0)
	got := o.compare(t, o.upload(t, acme.ID, "leadId,amount,currency",
		leadID(lead)+","+decimal(price-150)+",GBP", leadID(two)+",3,EUR", leadID(theirs)+",1,GBP",
		leadID(lead)+","+decimal(price-150)+",GBP", "x,1,GBP"), inColumns, 2)
	resolve := func(sc scope.Scope, line int, note string) apperr.Code {
		if err := o.Resolve(t.Context(), sc, got.ID, line, note); err != nil {
			return apperr.As(err).Code
		}
		return ""
	}
	if code := resolve(scope.Everywhere, 1, "x"); code != apperr.Conflict {
		t.Errorf("resolving a line of a dry run: got %q, want a conflict", code)
	}
	if err := o.Save(t.Context(), scope.Everywhere, got.ID, got.RowVersion); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code, want apperr.Code
	}{
		"empty note":   {resolve(scope.Everywhere, 1, " \n"), apperr.Invalid},
		"too long":     {resolve(scope.Everywhere, 1, strings.Repeat("é", reconcile.MaxNote+1)), apperr.Invalid},
		"NUL":          {resolve(scope.Everywhere, 1, "a\x00b"), apperr.Invalid},
		"other scope":  {resolve(scope.Partners(beta.ID), 1, "x"), apperr.NotFound},
		"unknown line": {resolve(scope.Everywhere, 99, "x"), apperr.NotFound},
		"longest note": {resolve(scope.Everywhere, 1, strings.Repeat("é", reconcile.MaxNote)), ""},
	} {
		if c.code != c.want {
			t.Errorf("%s: got %q, want %q", name, c.code, c.want)
		}
	}
	resolve(scope.Partners(acme.ID), 1, "=they were right")
	open, err := o.OpenLines(t.Context(), scope.Everywhere, got.ID)
	if want := map[models.Finding]int64{models.AmountDiffers: 1, models.Unknown: 1, models.Duplicated: 1, models.Unreadable: 1, models.Missing: 1}; err != nil || fmt.Sprint(open) != fmt.Sprint(want) {
		t.Errorf("OpenLines = %v, %v, want %v", open, err, want)
	}
	left, _, _, err := o.Lines(t.Context(), scope.Everywhere, reconcile.LineQuery{
		Reconciliation: got.ID,
		Open:           true,
		Finding:        models.AmountDiffers,
		Page:           postgres.Page[int]{Size: 9},
	})
	if err != nil || len(left) != 1 || left[0].Line != 2 {
		t.Errorf("got unresolved lines %+v and error %v, want line 2", left, err)
	}
	// The reference of another partner's lead is not shown.
	o.DB.Exec(t, `UPDATE leads SET partner_reference = 'click-1', sub_id = '=mail' WHERE id = ANY ($1)`,
		[]uuid.UUID{lead, theirs})
	at := o.Time.Now().Format("2006-01-02T15:04:05.000Z")
	received := testkit.StartTime().Format("2006-01-02T15:04:05.000Z")
	want := strings.Join([]string{
		"\ufeffrow,finding,problem,lead_id,partner_id,file_amount,ledger_amount,difference,currency,received_at,resolved_by,resolved_at,note,partner_reference,sub_id",
		fmt.Sprintf("2,amount_differs,,%s,acme-1,%s,%s,-1.50,GBP,%s,dmitri@example.com,%s,'=they were right,click-1,'=mail",
			leadID(lead), decimal(price-150), decimal(price), received, at),
		fmt.Sprintf("3,amount_differs,currency,%s,acme-1,3.00,%s,,EUR/GBP,%s,,,,,", leadID(two), decimal(price), received),
		fmt.Sprintf("4,unknown,other_partner=beta,%s,,1.00,,,GBP,,,,,,", leadID(theirs)),
		fmt.Sprintf("5,duplicate,first_row=2,%s,,%s,,,GBP,,,,,,", leadID(lead), decimal(price-150)),
		"6,unreadable,lead_id_prefix,,,,,,,,,,,,",
		fmt.Sprintf(",missing,,%s,acme-1,,%s,,GBP,%s,,,,,", leadID(missing), decimal(price), received), "",
	}, "\n")
	if text := csvOf(t, o, scope.Everywhere, got.ID, ""); text != want {
		t.Errorf("CSV:\n%s\nwant:\n%s", text, want)
	}
	if text := csvOf(t, o, scope.Partners(acme.ID), got.ID, models.Unknown); strings.Contains(text, "beta") ||
		strings.Count(text, "\n") != 2 {
		t.Errorf("CSV for a scope without beta: %s", text)
	}
	for name, sc := range map[string]scope.Scope{"other scope": scope.Partners(beta.ID), "empty scope": scope.Partners()} {
		if _, err := o.CSV(t.Context(), sc, got.ID, "", new(bytes.Buffer)); apperr.As(err) == nil ||
			apperr.As(err).Code != apperr.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := testkit.Value[int64](t, o.DB, `SELECT count(*) FROM audit_events WHERE action IN ('reconciliation.resolve', 'reconciliation.export', 'reconciliation.save', 'reconciliation.compare')`); n != 6 {
		t.Errorf("got %d audit events, want 6", n)
	}
}

// An export of more than exportBatchSize lines contains each line once, in order.
func TestExportOfManyLines(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	list := []string{"leadId,amount,currency"}
	for range 4500 {
		list = append(list, leadID(uuid.New())+",1,GBP")
	}
	got := o.compare(t, o.upload(t, acme.ID, list...), inColumns, 2)
	rows := strings.Split(strings.TrimSpace(csvOf(t, o, scope.Everywhere, got.ID, models.Unknown)), "\n")
	if len(rows) != len(list) {
		t.Fatalf("got %d rows, want %d", len(rows), len(list))
	}
	for i, row := range rows[1:] {
		if !strings.HasPrefix(row, fmt.Sprintf("%d,unknown,,%s,", i+2, strings.Split(list[i+1], ",")[0])) {
			t.Fatalf("row %d: %s", i+2, row)
		}
	}
	page, newer, older, err := o.Lines(t.Context(), scope.Everywhere, reconcile.LineQuery{
		Reconciliation: got.ID,
		Page:           postgres.Page[int]{Size: 10, Before: 101},
	})
	if err != nil || len(page) != 10 || page[0].Line != 91 || !newer || !older {
		t.Errorf("page before line 101: %d lines from line %d, newer %t, older %t, %v", len(page), page[0].Line, newer, older,
			err)
	}
}

// The database rejects lines for a reconciliation that does not exist or is not being compared.
func TestDatabaseRejectsLinesWithoutComparison(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	done := o.compare(t, o.upload(t, acme.ID, "leadId,amount,currency", leadID(uuid.New())+",1,GBP"), inColumns, 2)
	for name, r := range map[string]uuid.UUID{"unknown": uuid.New(), "compared": done.ID} {
		if err := o.DB.Gorm.Create(&models.ReconciliationLine{ReconciliationID: r, Line: 9, Finding: models.Matched}).Error; err == nil {
			t.Errorf("the database accepts a line of an %s reconciliation", name)
		}
	}
}
