//go:build !short

package reconciliation_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/models"
)

// An upload may take longer than the server's timeouts as long as data keeps arriving.
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	h.AddPartner(t, "harbour-leads")
	b := h.SignedInAs(t, models.Finance)
	const timeout = 3 * time.Second
	handler, err := admin.New(h.Options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ReadTimeout, server.Config.WriteTimeout = timeout, timeout
	server.Start()
	t.Cleanup(server.Close)

	file, writer := io.Pipe()
	go func() {
		every := time.NewTicker(timeout / 10)
		defer every.Stop()
		io.WriteString(writer, keyPart()+"--x\r\nContent-Disposition: form-data; name=\"partner\"\r\n\r\nharbour-leads\r\n"+
			"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"slow.csv\"\r\n\r\nleadId,amount\n")
		for range 15 { // longer than the timeout
			<-every.C
			io.WriteString(writer, id.Format(id.Lead, uuid.New())+",12.50\n")
		}
		io.WriteString(writer, "\r\n--x--\r\n")
		writer.Close()
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/reconciliation/new", file)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	resp, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := h.Count(t, "reconciliations", "(profile->>'rows')::int = 15"); resp.StatusCode != http.StatusSeeOther ||
		n != 1 {
		t.Errorf("got status %d and %d reconciliations, want 303 and 1", resp.StatusCode, n)
	}
}
