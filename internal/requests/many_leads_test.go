//go:build !short

package requests_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var manyLeads = flag.Int("many-leads", 5000, "how many leads a person has in TestPersonWithManyLeads")

// seal stores copies of a lead whose contact records can be decrypted, one for each second after its
// receipt.
func (r rig) seal(t *testing.T, lead uuid.UUID, n int) {
	t.Helper()
	partner := testkit.Value[uuid.UUID](t, r.DB, `SELECT partner_id FROM leads WHERE id = $1`, lead)
	person := leads.Contact{
		Email: "Ann.Example@example.com", Name: "Ann Example", Phone: "020 7946 0018", E164: "+442079460018",
		Address: "1 High Street", Notes: "Ring the bell", Answers: []byte(`{"rooms":"3"}`),
	}
	const batch = 5000
	for done := 0; done < n; {
		var ids []uuid.UUID
		var times []time.Time
		var ciphertext, iv, tag, salt, wrapped [][]byte
		for ; len(ids) < batch && done < n; done++ {
			at := r.Time.Now().Add(time.Duration(done+1) * time.Second)
			d := &leads.Delivery{Lead: models.Lead{ID: id.New(at), PartnerID: partner}}
			key, err := r.Wrappers.DataKey(t.Context())
			leadkit.Must(t, err)
			leadkit.Must(t, person.Seal(d, key))
			ids, times = append(ids, d.Lead.ID), append(times, at)
			ciphertext, iv, tag = append(ciphertext, d.Lead.Ciphertext), append(iv, d.Lead.IV), append(tag, d.Lead.AuthTag)
			salt, wrapped = append(salt, d.Key.Salt), append(wrapped, d.Key.WrappedKey)
		}
		r.DB.Exec(t, `WITH c AS (SELECT * FROM unnest($2::uuid[], $3::timestamptz[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[]) AS c (id, at, ciphertext, iv, tag, salt, wrapped)),
				k AS (INSERT INTO lead_keys SELECT r.* FROM c, lead_keys o, jsonb_populate_record(o, jsonb_build_object('lead_id', c.id, 'salt', c.salt, 'wrapped_key', c.wrapped)) r WHERE o.lead_id = $1),
				s AS (INSERT INTO consents SELECT r.* FROM c, consents o, jsonb_populate_record(o, jsonb_build_object('lead_id', c.id, 'received_at', c.at)) r WHERE o.lead_id = $1)
			INSERT INTO leads SELECT r.* FROM c, leads o, jsonb_populate_record(o, jsonb_build_object('id', c.id, 'received_at', c.at, 'attempt_id', gen_random_uuid(),
				'transaction_id', 'tx_' || c.id, 'ciphertext', c.ciphertext, 'iv', c.iv, 'auth_tag', c.tag)) r WHERE o.id = $1`,
			lead, ids, times, ciphertext, iv, tag, salt, wrapped)
	}
}

// liveHeap calls a function, and returns the number of bytes by which the live heap grew while the function ran.
func liveHeap(do func()) int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	read := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before, done, most := read(), make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		var m uint64
		for {
			select {
			case <-tick.C:
				m = max(m, read())
			case <-done:
				most <- m
				return
			}
		}
	}()
	do()
	close(done)
	return int64(<-most) - int64(before)
}

// maxExportHeap limits the memory of an export, whose leads are read in batches.
const maxExportHeap = 48 << 20

// A person's leads are found, exported and erased, even if there are very many of them.
func TestPersonWithManyLeads(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	n := *manyLeads
	r.seal(t, r.Deliver(t, leadkit.Contact), n-1)
	r.Time.Advance(30 * time.Hour)
	db, err := postgres.Open(t.Context(), postgres.Options{
		URL: r.DB.AppURL, MaxConnections: 5, StatementTimeout: config.Defaults(config.Serve).Database.StatementTimeout,
	})
	leadkit.Must(t, err)
	defer db.Close()
	r.Services = leadkit.NewServices(db, r.Wrappers, r.Keys, r.Journal, r.Time, leadkit.Settings{RevealsPerDay: n, LookupsPerDay: 10}).By(r.User)
	timed := func(what string, do func()) (heap int64) {
		t.Helper()
		begun := time.Now()
		heap = liveHeap(do)
		t.Logf("%s: %.1f s, %d MB", what, time.Since(begun).Seconds(), heap>>20)
		return heap
	}

	timed("find", func() {
		found, err := r.Reveals.FindPerson(t.Context(), leads.Person{Email: "ann.example@example.com"})
		if err != nil || len(found) != n {
			t.Fatalf("found %d leads, %v, want %d", len(found), err, n)
		}
	})
	access, erasure := r.Request(t, models.RequestAccess), r.Request(t, models.RequestErasure)
	var passphrase string
	heap := timed("export", func() {
		passphrase, err = r.ExportRequest(t.Context(), access)
		leadkit.Must(t, err)
	})
	if heap > maxExportHeap {
		t.Errorf("the export needs %d MB of memory, want at most %d", heap>>20, maxExportHeap>>20)
	}
	archive := r.saveExport(t, access)
	for name, text := range map[string]string{"data.json": `"email": "Ann.Example@example.com"`, "data.html": `<dd>Ann Example</dd>`} {
		if got := countLines(t, archive, passphrase, name, text); got != n {
			t.Errorf("%s contains %d contact records, want %d", name, got, n)
		}
	}
	if held := r.heldLeads(t, erasure); held != 0 {
		t.Errorf("got %d held leads, want none", held)
	}
	timed("erase", func() {
		leadkit.Must(t, r.Requests.Erase(t.Context(), erasure))
		leadkit.Must(t, r.Erasures.Finish(t.Context()))
	})
	if outcome, found := r.State(t, erasure); outcome != string(models.OutcomeErased) || found.Erased != n ||
		found.Pending != 0 {
		t.Errorf("got %s with %d erased and %d pending leads, want %d erased", outcome, found.Erased, found.Pending, n)
	}
	receipts, err := r.Requests.Receipts(t.Context(), erasure)
	if err != nil || len(receipts) != n {
		t.Errorf("got %d receipts, %v, want %d", len(receipts), err, n)
	}
	if notices, err := r.Requests.Notices(t.Context(), erasure); err != nil || len(notices) != 1 {
		t.Errorf("got notices %+v, %v", notices, err)
	}
	if left := testkit.Value[int](t, r.DB, `SELECT (SELECT count(*) FROM lead_keys) + (SELECT count(*) FROM files)`); left != 0 {
		t.Errorf("%d keys and files are left", left)
	}
	if v, err := r.Erasures.Verify(t.Context()); err != nil || v.Entries != int64(n+999)/1000 {
		t.Errorf("verify: got %+v, %v", v, err)
	}
}

// limitedWrapper unwraps only a limited number of batches.
type limitedWrapper struct {
	envelope.KeyWrapper
	batches int
}

var errVaultAway = errors.New("connection refused")

func (w *limitedWrapper) Unwrap(ctx context.Context, wrapped [][]byte) ([]envelope.Unwrapped, error) {
	if w.batches == 0 {
		return nil, errVaultAway
	}
	w.batches--
	return w.KeyWrapper.Unwrap(ctx, wrapped)
}

// If the keys become unavailable during an export, no part of it is left, and it can be repeated.
func TestExportStopsWithoutKeys(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	const n, batches = 1500, 4 // two for each of the files in the archive
	r.seal(t, r.Deliver(t, leadkit.Contact), n-1)
	r.Time.Advance(time.Hour)
	request := r.Request(t, models.RequestAccess)
	local, err := envelope.NewLocal(bytes.Repeat([]byte{0xEE}, envelope.KeySize))
	leadkit.Must(t, err)
	for unwrapped := range batches + 1 {
		s := leadkit.NewServices(r.DB.DB, envelope.NewWrappers(&limitedWrapper{local, unwrapped}), r.Keys, r.Journal, r.Time, leadkit.Settings{RevealsPerDay: 10 * n}).By(r.User)
		want, files := "unavailable keys", 0
		if unwrapped == batches {
			want, files = "<nil>", 1
		}
		if _, err := s.Requests.Export(t.Context(), request); leadkit.Rejection(err) != want {
			t.Errorf("after %d batches: got %v, want %s", unwrapped, err, want)
		}
		if got := testkit.Value[int](t, r.DB, `SELECT count(*) FROM files`); got != files {
			t.Errorf("after %d batches: got %d files, want %d", unwrapped, got, files)
		}
	}
}

// saveExport saves the export of a request as a file, and returns its path.
func (r rig) saveExport(t *testing.T, request uuid.UUID) (path string) {
	t.Helper()
	archive, err := r.OpenExport(t.Context(), request)
	leadkit.Must(t, err)
	defer archive.Close()
	path = filepath.Join(t.TempDir(), "export.zip")
	file, err := os.Create(path)
	leadkit.Must(t, err)
	_, err = io.Copy(file, archive)
	leadkit.Must(t, errors.Join(err, file.Close()))
	return path
}

// countLines counts the lines that contain a text in a file of an archive.
func countLines(t *testing.T, archive, passphrase, name, text string) (n int) {
	t.Helper()
	extract := exec.CommandContext(t.Context(), "bsdtar", "-xO", "--passphrase", passphrase, "-f", archive, name)
	output, err := extract.StdoutPipe()
	leadkit.Must(t, err)
	leadkit.Must(t, extract.Start())
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			n++
		}
	}
	leadkit.Must(t, errors.Join(lines.Err(), extract.Wait()))
	return n
}

// An entry of the journal contains at most 1,000 leads.
func TestErasureRequestWithManyLeads(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx, lead := t.Context(), r.Deliver(t, leadkit.Contact)
	r.copyLead(t, lead, 2500)
	request := r.Request(t, models.RequestErasure)
	if err := r.Requests.Erase(ctx, request); err != nil {
		t.Fatal(err)
	}
	if err := r.Erasures.Finish(ctx); err != nil { // the rest
		t.Fatal(err)
	}
	if _, found := r.State(t, request); found.Leads != 2501 || found.Erased != 2501 {
		t.Errorf("got %+v", found)
	}
	if v, err := r.Erasures.Verify(ctx); err != nil || v.Entries != 3 {
		t.Errorf("got %+v, %v, want 3 entries", v, err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM leads WHERE ciphertext IS NOT NULL`); n != 0 {
		t.Errorf("%d leads have a contact record", n)
	}
}

// copyLead stores n copies of a lead under other ids. Their contact records cannot be decrypted, because
// they are bound to the lead.
func (r rig) copyLead(t *testing.T, lead uuid.UUID, n int) {
	t.Helper()
	r.DB.Exec(t, `WITH ids AS (SELECT l.id AS old, (substring(l.id::text FOR 24) || lpad(to_hex(i), 12, '0'))::uuid AS new, gen_random_uuid() AS attempt
			FROM leads l, generate_series(1, $2) i WHERE l.id = $1),
		lead AS (INSERT INTO leads SELECT (jsonb_populate_record(l, jsonb_build_object('id', new, 'attempt_id', attempt, 'transaction_id', 'tx_' || new))).* FROM leads l, ids WHERE l.id = old)
		INSERT INTO lead_keys SELECT (jsonb_populate_record(k, jsonb_build_object('lead_id', new))).* FROM lead_keys k, ids WHERE k.lead_id = old`, lead, n)
}
