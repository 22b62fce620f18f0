package payouts_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// An invalid filter matches nothing and cannot be exported. Otherwise a typing error would export
// the whole ledger.
func TestInvalidFilter(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	for _, query := range []string{
		"from=2026-02-30", "to=yesterday&from=%00", "from=2026-02-03&to=2026-02-02", "account=nobody", "partner=nobody",
		"currency=pounds",
	} {
		p := c.Get(t, "/payouts?"+query)
		p.Expect(t, query, http.StatusOK, `data-empty="invalid"`)
		if strings.Contains(p.Body, "0 entries") || strings.Count(p.Body, `data-notice="warn"`) != 1 ||
			strings.Contains(p.Body, "/payouts/ledger.csv") {
			t.Errorf("%s: want one warning and no export: %s", query, p.Text())
		}
		c.Get(t, "/payouts/ledger.csv?"+query).Expect(t, query+", CSV", http.StatusUnprocessableEntity)
		form, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		c.Post(t, "/payouts/exports", form).Expect(t, query+", prepared export", http.StatusUnprocessableEntity)
	}
	for _, query := range []string{"partner=nobody", "currency=pounds"} {
		for _, path := range []string{"/payouts/balances?", "/payouts/adjustments?"} {
			p := c.Get(t, path+query)
			p.Expect(t, path+query, http.StatusOK, `data-empty="invalid"`)
			if n := strings.Count(p.Body, `data-notice="warn"`); n != 1 {
				t.Errorf("%s: got %d warnings, want 1: %s", path+query, n, p.Text())
			}
		}
		c.Get(t, "/payouts/balances.csv?"+query).Expect(t, query+", balances", http.StatusUnprocessableEntity)
	}
	n := c.Console.Count(t, "exports", "true") + c.Console.Count(t, "audit_events", "action LIKE 'ledger.export%'")
	if n != 0 {
		t.Errorf("got %d exports and events, want 0", n)
	}
}

// The ledger's CSV file escapes formulas. The download is recorded in the audit log with its filter
// and without rows.
func TestLedgerCSV(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.Get(t, "/payouts?partner=meadow-media").ExpectTexts(t, http.StatusOK, "The file contains 1 entry.")
	p := c.Get(t, "/payouts/ledger.csv?partner=meadow-media")
	rows := records(t, p)
	if len(rows) != 1 || rows[0]["transaction_id"] != "'=tx" || rows[0]["amount"] != "20.00" ||
		rows[0]["currency"] != "GBP" || rows[0]["partner_id"] != "meadow-media-1" ||
		rows[0]["lead_id"] != admintest.LeadID(c.Leads[3]) {
		t.Errorf("got rows %v", rows)
	}
	if got := p.Header.Get("Content-Disposition"); got != `attachment; filename="ledger-20260102-0404.csv"` {
		t.Errorf("got Content-Disposition %s", got)
	}
	after := testkit.Value[string](t, c.Database,
		`SELECT after::text FROM audit_events WHERE action = 'ledger.export' AND partner_id = $1`, c.Meadow.ID)
	if !strings.Contains(after, id.Format(id.Partner, c.Meadow.ID)) ||
		strings.Contains(after, "20") && strings.Contains(after, "amount") {
		t.Errorf("got audit event %s", after)
	}
	if c.Console.Count(t, "audit_events", "action = 'ledger.export'") != 1 {
		t.Error("want one ledger.export event")
	}
	c.Get(t, "/payouts/ledger.csv?currency=EUR&from=2026-01-02&to=2026-01-02&open=1")
	c.Post(t, "/payouts/exports", url.Values{"currency": {"EUR"}})
	log := c.Get(t, "/audit?action=ledger.export")
	if log.Expect(t, "the audit log", http.StatusOK, "EUR", "2026-01-03T00:00:00Z", id.Format(id.Partner, c.Meadow.ID)); strings.Contains(log.Body, "map[") || strings.Contains(log.Body, "currency:2") {
		t.Errorf("the audit log shows a filter as a Go value: %s", log.Body)
	}
	c.CheckAuditLog(t)
}

// An export that fails before the first row shows an error page instead of a file.
func TestExportFailsBeforeFirstRow(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	run := c.PreparedRun(t, "")
	c.SignInAnotherUser(t, "fay@example.com").Post(t, run+"/approve", url.Values{"version": {"2"}})
	c.Exec(t, `ALTER TABLE ledger_notes RENAME COLUMN note TO nota`)
	c.Exec(t, `ALTER TABLE statements RENAME COLUMN outcome TO result`)
	for _, path := range []string{"/payouts/ledger.csv", run + "/payments.csv"} {
		p := c.Get(t, path)
		if p.Status != http.StatusServiceUnavailable || p.Header.Get("Content-Disposition") != "" ||
			!strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: got status %d, content type %s: %.200s", path, p.Status, p.Header.Get("Content-Type"), p.Body)
		}
	}
}

// An interrupted download ends with an error, so that it cannot be mistaken for a complete file.
func TestInterruptedExportEndsWithError(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.Exec(t, `WITH e AS (
			INSERT INTO ledger_entries (partner_id, account_id, kind, reference, amount_minor, currency, occurred_at)
			SELECT $1, $2, 'adjustment', 'ad_' || n, 1, 'GBP', $3 FROM generate_series(1, 60000) AS n RETURNING id, occurred_at)
		INSERT INTO ledger_notes SELECT id, occurred_at, repeat('x', 300) FROM e`, c.Harbour.ID, c.Harbour.Account.ID, c.Time.Now())
	whole := c.Get(t, "/payouts/ledger.csv?kind=adjustment")
	if got := strings.Count(whole.Body, "\n"); got != 60001 {
		t.Fatalf("got %d lines, want 60001", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"/payouts/ledger.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if coding := resp.Header.Get("Content-Encoding"); coding != "" {
		t.Errorf("got Content-Encoding %s, want no encoding", coding)
	}
	if _, err := resp.Body.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	c.Exec(t,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'pingpost_app' AND xact_start IS NOT NULL`)
	var rest bytes.Buffer
	if n, err := rest.ReadFrom(resp.Body); err == nil {
		t.Errorf("the download ended without an error after %d of %d bytes", n, len(whole.Body))
	}
}

// A download may take longer than the timeouts for pages.
func TestExportOutlastsPageTimeouts(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	handler, err := admin.New(c.Options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 2*time.Second, 2*time.Second
	server.Start()
	t.Cleanup(server.Close)
	b := &admintest.Client{
		Client:  c.Client.Client,
		Console: &admintest.Console{URL: server.URL},
	} // cookies do not depend on the port
	lock, err := testkit.Connect(t, c.RootURL).Begin(t.Context())
	if err == nil {
		_, err = lock.Exec(t.Context(), `LOCK TABLE payout_runs`)
	}
	if err != nil {
		t.Fatal(err)
	}
	var download sync.WaitGroup
	download.Go(func() {
		if rows := records(t, b.Get(t, "/payouts/ledger.csv")); len(rows) != 4 {
			t.Errorf("got %d rows, want 4", len(rows))
		}
	})
	defer download.Wait()
	c.AwaitLockOn(t, "payout_runs")
	// Make the download take longer than a page may.
	if _, err := lock.Exec(t.Context(), `SELECT pg_sleep(3)`); err != nil {
		t.Fatal(err)
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A prepared export is written in the background, and only the user who requested it can see it.
func TestPreparedExport(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	at := c.Post(t, "/payouts/exports", url.Values{
		"partner":  {"harbour-leads"},
		"currency": {"GBP"},
	}).ExpectCreated(t, "/payouts/exports/ex_")
	c.Get(t, at).Expect(t, "waiting", http.StatusOK, `data-state="waiting"`, `hx-get="`+at+`/live"`)
	if p := c.Get(t, at+"/file"); p.Status != http.StatusConflict {
		t.Errorf("a file that is not ready: got status %d, want 409", p.Status)
	}
	fay, mine := c.SignInAnotherUser(t, "fay@example.com"), c.SignInAnotherUser(t, "of-harbour@example.com")
	for _, path := range []string{at, at + "/live", at + "/file"} {
		for _, b := range []*admintest.Client{fay, mine} {
			if p := b.Get(t, path); p.Status != http.StatusNotFound || p.Body != b.Get(t, "/no-such-page").Body {
				t.Errorf("%s for another user: got status %d, want 404", path, p.Status)
			}
		}
	}
	c.RunJobs(t)
	testkit.Eventually(t, time.Minute, "the file is written",
		func() bool { return strings.Contains(c.Get(t, at+"/live").Body, `href="`+at+`/file"`) })
	if rows := records(t, c.Get(t, at+"/file")); len(rows) != 2 || rows[0]["lead_id"] != admintest.LeadID(c.Leads[0]) {
		t.Errorf("got rows %v", rows)
	}
	testkit.Eventually(t, time.Minute, "the list shows the finished job", // which ends after its file is written
		func() bool { return strings.Contains(fay.Get(t, "/jobs").Body, `data-state="done"`) })
	fay.Get(t, "/jobs").Expect(t, "the list", http.StatusOK, "finance@example.com")
	if p := fay.Get(t, "/jobs"); strings.Contains(p.Body, `href="`+at) {
		t.Error("the list links to another user's export")
	}
	c.CheckAuditLog(t)
}
