package reconciliation_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	reconciliationpages "github.com/pingpost/pingpost/admin/reconciliation"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/templates/ui"
)

// What is no list, or whose it is not known, is said beside its field; nothing of it stays.
func TestListsThatAreRejected(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
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
		"not CSV": {"harbour-leads", "a.xlsx",
			"PK\x03\x04\x00\x00\x08\x00" + strings.Repeat("\x00\x01", 5000), "file"},
		"UTF-16": {"harbour-leads", "a.csv", "\xff\xfel\x00e\x00a\x00d\x00\n\x00", "file"},
		"half UTF-8": {"harbour-leads", "a.csv",
			"leadId,amount,name\n" + lead + ",1,J\xfcrgen\n" + lead + ",1,J\u00fcrgen\n", "file"},
		"no head":      {"harbour-leads", "a.csv", lead + ",12.50\n" + lead + ",1\n", "file"},
		"a head twice": {"harbour-leads", "a.csv", "leadId,amount,amount\n" + lead + ",1,2\n", "file"},
	} {
		p := b.Upload(t, c.partner, c.file, c.content)
		if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Errors(), []string{c.field}) ||
			!slices.Equal(p.Values("data-errors"), []string{"1"}) {
			t.Errorf("%s: %d %s", name, p.Status, p.Text())
		}
		if c.partner == "harbour-leads" && !strings.Contains(p.Body, `value="harbour-leads" selected`) {
			t.Errorf("%s: whose list it is was forgotten", name)
		}
		if strings.Contains(p.Body, "rgen") {
			t.Errorf("%s: what the file holds is repeated", name)
		}
	}
	for name, body := range map[string]string{
		"nothing":                "",
		"no parts":               "partner=harbour-leads",
		"an end that is missing": "--x\r\nContent-Disposition: form-data; name=\"partner\"\r\n\r\nharbour",
	} {
		p := b.Send(t, http.MethodPost, "/reconciliation/new", strings.NewReader(body),
			http.Header{"Content-Type": {"multipart/form-data; boundary=x"}})
		if p.Status != http.StatusBadRequest && p.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, p.Status, p.Text())
		}
	}
	if n, files := b.Count(t, "reconciliations", "true"), b.Count(t, "files", "true"); n != 0 || files != 0 {
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
	b := admintest.NewConsoleWithDeliveries(t)
	const size = 2 << 30
	for name, said := range map[string]bool{"by its length": true, "as it comes": false} {
		list := &endless{
			head: keyPart() + "--x\r\nContent-Disposition: form-data; name=\"partner\"\r\n\r\nharbour-leads\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nleadId,amount,text\n",
			row:  "ld_01JD3Z0000000000000000000A,12.50," + strings.Repeat("words ", 600) + "\n",
			left: size,
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.Console.URL+"/reconciliation/new", list)
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
		if read := list.read.Load(); !said && read < reconcile.MaxFile || said && read > 64<<20 ||
			read > reconciliationpages.MaxList+(64<<20) {
			t.Errorf("%s: %d bytes were read", name, read)
		}
		if text := string(body); resp.StatusCode/100 != 4 || !strings.Contains(text, `data-error="file"`) ||
			!strings.Contains(text, "256") {
			t.Errorf("%s: %d %.300s", name, resp.StatusCode, text)
		}
	}
	if n := b.Count(t, "reconciliations", "true"); n != 0 {
		t.Errorf("%d were made", n)
	}
	testkit.Eventually(t, 10*time.Second, "no file stays", func() bool { return b.Count(t, "files", "true") == 0 })
}
