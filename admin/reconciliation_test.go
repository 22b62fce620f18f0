package admin

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	reconciliationpages "github.com/pingpost/pingpost/admin/reconciliation"
	"github.com/pingpost/pingpost/internal/clientaddr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// books is a house whose partners deliver leads, and the browser of its finance person.
type books struct {
	*house
	*visitor
	platform *testkit.Platform
	in       *intake.Intake
	other    testkit.Partner
}

func newBooks(t *testing.T) books {
	t.Helper()
	h := newHouse(t, kind{})
	b := books{house: h, visitor: h.as(t, models.Finance), platform: testkit.NewPlatform(t, h.Database)}
	b.in, b.other = b.platform.Intake(intake.Settings{DefaultMode: models.SigningRequired}), b.platform.ReportOnly
	h.works(t)
	return b
}

// harbour is the partner whose lists are reconciled.
func (b books) harbour() testkit.Partner { return b.platform.Required }

// deliver is a lead, delivered now: its leadId and what it earned.
func (b books) deliver(t testing.TB, by testkit.Partner) (lead string, earned money.Amount) {
	t.Helper()
	return b.deliverFrom(t, by, "GB")
}

// deliverFrom is deliver in another country, whose currency the lead earns.
func (b books) deliverFrom(t testing.TB, by testkit.Partner, country string) (lead string, earned money.Amount) {
	t.Helper()
	b.platform.Reload(t)
	q, err := b.in.Ping(intake.PingRequest{ID: uuid.New(), Body: fmt.Appendf(nil, `{"industry":"plumber","postcode":"SW1A 1AA","country":%q}`, country)})
	if err != nil || !q.Accepted {
		t.Fatalf("a ping: %+v, %v", q, err)
	}
	body := fmt.Appendf(nil, `{"transactionId":%q,"partnerId":%q,"email":"ann@example.com","consent":{"acknowledged":true}}`, q.TransactionID, by.Accounts[0].Identifier)
	r, err := b.in.Post(t.Context(), intake.PostRequest{ID: uuid.New(), Address: clientaddr.Group("192.0.2.1"), Body: body, Headers: by.Sign(b.platform.Time.Now(), body)})
	if err != nil {
		t.Fatal(err)
	}
	return id.Format(id.Lead, r.LeadID), r.Payout
}

// listForm is an upload's body: the key, the partner, then the file.
func listForm(t testing.TB, key, partner, name, content string) (io.Reader, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, field := range [][2]string{{ui.FormKeyField, key}, {"partner", partner}} {
		if err := w.WriteField(field[0], field[1]); err != nil {
			t.Fatal(err)
		}
	}
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &body, w.FormDataContentType()
}

func (b *visitor) give(t testing.TB, partner, name, content string) page {
	t.Helper()
	body, kind := listForm(t, uuid.NewString(), partner, name, content)
	return b.send(t, http.MethodPost, "/reconciliation/new", body, http.Header{"Content-Type": {kind}, "Origin": {b.house.url}})
}

// given is the page of a list that was taken in.
func (b books) given(t testing.TB, partner string, rows ...string) string {
	t.Helper()
	p := b.give(t, partner, "march.csv", strings.Join(rows, "\n")+"\n")
	if p.status != http.StatusSeeOther || !strings.HasPrefix(p.location(), "/reconciliation/rn_") {
		t.Fatalf("%d %s", p.status, p.text())
	}
	return p.location()
}

// version is the one that the page's forms were made from.
func (b books) version(t testing.TB, at string) string {
	t.Helper()
	return fmt.Sprint(testkit.Value[int](t, b.Database, `SELECT row_version FROM reconciliations WHERE id = $1`, idOf(t, at)))
}

func idOf(t testing.TB, at string) uuid.UUID {
	t.Helper()
	named, err := id.Parse(id.Reconciliation, strings.TrimPrefix(at, "/reconciliation/"))
	if err != nil {
		t.Fatal(err)
	}
	return named
}

// inColumns is the form of a list with the columns leadId, amount and currency.
func (b books) inColumns(t testing.TB, at string) url.Values {
	t.Helper()
	return url.Values{"version": {b.version(t, at)}, "lead_id": {"leadId"}, "amount": {"amount"}, "currency": {"in:currency"}, "from": {"2026-01-01"}, "to": {"2026-01-31"}}
}

// compared has a list compared, and waits for it.
func (b books) compared(t testing.TB, at string, form url.Values) {
	t.Helper()
	if p := b.post(t, at+"/compare", form); p.status != http.StatusSeeOther || p.location() != at {
		t.Fatalf("%d %s", p.status, p.text())
	}
	b.comes(t, at, models.ReconciliationCompared)
}

func (b books) comes(t testing.TB, at string, state models.ReconciliationState) {
	t.Helper()
	testkit.Eventually(t, 30*time.Second, "the list is "+string(state), func() bool { return b.stateOf(t, at) == state })
}

func (b books) stateOf(t testing.TB, at string) models.ReconciliationState {
	t.Helper()
	r, err := b.options.Reconcile.Get(t.Context(), scope.System, idOf(t, at))
	if err != nil {
		t.Fatal(err)
	}
	return r.State
}

// says fails the test for each text that a page lacks.
func (p page) says(t testing.TB, status int, texts ...string) {
	t.Helper()
	if p.status != status {
		t.Errorf("%d, want %d: %s", p.status, status, p.text())
	}
	for _, text := range texts {
		if !strings.Contains(p.body, text) {
			t.Errorf("the page lacks %q: %s", text, p.text())
		}
	}
}

// What is no list, or whose it is not known, is said beside its field; nothing of it stays.
func TestListsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	lead := id.Format(id.Lead, uuid.New())
	for name, c := range map[string]struct {
		partner, file, content string
		field                  string
	}{
		"no partner":         {"", "a.csv", "leadId,amount\n" + lead + ",1\n", "partner"},
		"an unknown partner": {"nobody", "a.csv", "leadId,amount\n" + lead + ",1\n", "partner"},
		"no text":            {"a\x00b", "a.csv", "leadId,amount\n" + lead + ",1\n", "partner"},
		"no file":            {"harbour-leads", "", "", "file"},
		"empty":              {"harbour-leads", "a.csv", "", "file"},
		"not CSV":            {"harbour-leads", "a.xlsx", "PK\x03\x04\x00\x00\x08\x00" + strings.Repeat("\x00\x01", 5000), "file"},
		"UTF-16":             {"harbour-leads", "a.csv", "\xff\xfel\x00e\x00a\x00d\x00\n\x00", "file"},
		"half UTF-8":         {"harbour-leads", "a.csv", "leadId,amount,name\n" + lead + ",1,J\xfcrgen\n" + lead + ",1,J\u00fcrgen\n", "file"},
		"no head":            {"harbour-leads", "a.csv", lead + ",12.50\n" + lead + ",1\n", "file"},
		"a head twice":       {"harbour-leads", "a.csv", "leadId,amount,amount\n" + lead + ",1,2\n", "file"},
	} {
		p := b.give(t, c.partner, c.file, c.content)
		p.says(t, http.StatusUnprocessableEntity, `id="f-`+c.field+`-error"`, `id="error-summary"`)
		if c.partner == "harbour-leads" && !strings.Contains(p.body, `value="harbour-leads" selected`) {
			t.Errorf("%s: whose list it is was forgotten", name)
		}
		if strings.Contains(p.body, "rgen") {
			t.Errorf("%s: what the file holds is repeated", name)
		}
	}
	for name, body := range map[string]string{"nothing": "", "no parts": "partner=harbour-leads", "an end that is missing": "--x\r\nContent-Disposition: form-data; name=\"partner\"\r\n\r\nharbour"} {
		p := b.send(t, http.MethodPost, "/reconciliation/new", strings.NewReader(body), http.Header{"Content-Type": {"multipart/form-data; boundary=x"}})
		if p.status != http.StatusBadRequest && p.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, p.status, p.text())
		}
	}
	if n, files := b.count(t, "reconciliations", "true"), b.count(t, "files", "true"); n != 0 || files != 0 {
		t.Errorf("%d reconciliations and %d files stayed", n, files)
	}
}

// keyPart is a new key as a part of an upload with the boundary x.
func keyPart() string {
	return "--x\r\nContent-Disposition: form-data; name=\"" + ui.FormKeyField + "\"\r\n\r\n" + uuid.NewString() + "\r\n"
}

// endless is a list that goes on for as long as somebody reads it, up to a bound, and
// counts what was read: an answer may come while the client is still sending.
type endless struct {
	head, row string
	left      int64
	read      atomic.Int64
}

func (e *endless) Read(p []byte) (n int, err error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	if e.head != "" {
		n = copy(p, e.head)
		e.head = e.head[n:]
	} else {
		for n+len(e.row) <= len(p) {
			n += copy(p[n:], e.row)
		}
	}
	e.left -= int64(n)
	e.read.Add(int64(n))
	return n, nil
}

// Two gigabytes are refused by their length before anything is read, and by their size
// where the length is not said.
func TestTooLargeAList(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	const size = 2 << 30
	for name, said := range map[string]bool{"by its length": true, "as it comes": false} {
		list := &endless{
			head: keyPart() + "--x\r\nContent-Disposition: form-data; name=\"partner\"\r\n\r\nharbour-leads\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nleadId,amount,text\n",
			row:  "ld_01JD3Z0000000000000000000A,12.50," + strings.Repeat("words ", 600) + "\n", left: size,
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.house.url+"/reconciliation/new", list)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		if said {
			req.ContentLength = size
		}
		client := *b.Client
		client.Timeout = 2 * time.Minute
		resp, err := client.Do(req)
		if err != nil {
			t.Errorf("%s: no answer: %v", name, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if read := list.read.Load(); !said && read < reconcile.MaxFile || said && read > 64<<20 || read > reconciliationpages.MaxList+(64<<20) {
			t.Errorf("%s: %d bytes were read", name, read)
		}
		if text := string(body); resp.StatusCode/100 != 4 || !strings.Contains(text, `id="f-file-error"`) || !strings.Contains(text, "256 M") {
			t.Errorf("%s: %d %.300s", name, resp.StatusCode, text)
		}
	}
	if n := b.count(t, "reconciliations", "true"); n != 0 {
		t.Errorf("%d were made", n)
	}
	testkit.Eventually(t, 10*time.Second, "no file stays", func() bool { return b.count(t, "files", "true") == 0 })
}
