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
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/templates/ui"
)

// A rejected upload shows one error at its field and stores nothing.
func TestRejectsInvalidUploads(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead := id.Format(id.Lead, uuid.New())
	for name, c := range map[string]struct {
		partner, file, content string
		field                  string
	}{
		"no partner":         {"", "a.csv", "leadId,amount\n" + lead + ",1\n", "partner"},
		"unknown partner":    {"unknown", "a.csv", "leadId,amount\n" + lead + ",1\n", "partner"},
		"NUL in the partner": {"a\x00b", "a.csv", "leadId,amount\n" + lead + ",1\n", "partner"},
		"no file":            {"harbour-leads", "", "", "file"},
		"empty":              {"harbour-leads", "a.csv", "", "file"},
		"not CSV": {"harbour-leads", "a.xlsx",
			"PK\x03\x04\x00\x00\x08\x00" + strings.Repeat("\x00\x01", 5000), "file"},
		"UTF-16": {"harbour-leads", "a.csv", "\xff\xfel\x00e\x00a\x00d\x00\n\x00", "file"},
		"mixed encodings": {"harbour-leads", "a.csv",
			"leadId,amount,name\n" + lead + ",1,J\xfcrgen Kanarienvogel\n" + lead + ",1,J\u00fcrgen Kanarienvogel\n", "file"},
		"no header":             {"harbour-leads", "a.csv", lead + ",12.50\n" + lead + ",1\n", "file"},
		"duplicate column name": {"harbour-leads", "a.csv", "leadId,amount,amount\n" + lead + ",1,2\n", "file"},
	} {
		p := b.Upload(t, c.partner, c.file, c.content)
		if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Errors(), []string{c.field}) ||
			!slices.Equal(p.Values("data-errors"), []string{"1"}) {
			t.Errorf("%s: got status %d, want 422 with an error at %s: %s", name, p.Status, c.field, p.Text())
		}
		if c.partner == "harbour-leads" && !strings.Contains(p.Body, `value="harbour-leads" selected`) {
			t.Errorf("%s: the partner is no longer selected", name)
		}
		if strings.Contains(p.Body, "Kanarienvogel") {
			t.Errorf("%s: the page contains text from the file", name)
		}
	}
	for name, body := range map[string]string{
		"empty body":    "",
		"not multipart": "partner=harbour-leads",
		"incomplete":    "--x\r\nContent-Disposition: form-data; name=\"partner\"\r\n\r\nharbour",
	} {
		p := b.Send(t, http.MethodPost, "/reconciliation/new", strings.NewReader(body),
			http.Header{"Content-Type": {"multipart/form-data; boundary=x"}})
		if p.Status != http.StatusBadRequest && p.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got status %d, want 400 or 422: %s", name, p.Status, p.Text())
		}
	}
	if n, files := b.Count(t, "reconciliations", "true"), b.Count(t, "files", "true"); n != 0 || files != 0 {
		t.Errorf("got %d reconciliations and %d files, want 0", n, files)
	}
}

// keyPart returns the part with a new form key, for the boundary x.
func keyPart() string {
	return "--x\r\nContent-Disposition: form-data; name=\"" + ui.FormKeyField + "\"\r\n\r\n" + uuid.NewString() + "\r\n"
}

// endless generates a file. The field left is the number of bytes still to be read. The field read
// counts the bytes that have been read, because the response may come before the client has sent
// everything.
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

// A file that is too large is rejected before it is read if the request has a Content-Length. If not,
// reading stops at the limit.
func TestRejectsUploadThatIsTooLarge(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	const size = 2 << 30
	for name, hasLength := range map[string]bool{"with Content-Length": true, "chunked": false} {
		file := &endless{
			head: keyPart() + "--x\r\nContent-Disposition: form-data; name=\"partner\"\r\n\r\nharbour-leads\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nleadId,amount,text\n",
			row:  "ld_01JD3Z0000000000000000000A,12.50," + strings.Repeat("words ", 600) + "\n",
			left: size,
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.Console.URL+"/reconciliation/new", file)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		if hasLength {
			req.ContentLength = size
		}
		client := *b.Client
		client.Timeout = 2 * time.Minute
		resp, err := client.Do(req)
		if err != nil {
			t.Errorf("%s: no response: %v", name, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if read := file.read.Load(); !hasLength && read < reconcile.MaxFile || hasLength && read > 64<<20 ||
			read > reconciliationpages.MaxUpload+(64<<20) {
			t.Errorf("%s: the server read %d bytes", name, read)
		}
		if text := string(body); resp.StatusCode/100 != 4 || !strings.Contains(text, `data-error="file"`) ||
			!strings.Contains(text, "256") {
			t.Errorf("%s: got status %d, want an error at the file: %.300s", name, resp.StatusCode, text)
		}
	}
	if n := b.Count(t, "reconciliations", "true"); n != 0 {
		t.Errorf("got %d reconciliations, want 0", n)
	}
	testkit.Eventually(t, time.Minute, "all files are deleted", func() bool { return b.Count(t, "files", "true") == 0 })
}
