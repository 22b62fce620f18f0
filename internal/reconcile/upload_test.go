package reconcile_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme, beta := o.AddPartner(t, "acme", models.SigningRequired), o.AddPartner(t, "beta", models.SigningRequired)
	list := "leadId;Payout (GBP);when\n" + leadID(uuid.New()) + ";12,50;31/01/2026\n" + leadID(uuid.New()) +
		";1.250,00;01/02/2026\n"
	made, err := o.Upload(t.Context(), scope.Partners(acme.ID), acme.ID, `C:\lists\ma`+"\x00"+`rch.csv`,
		strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.Get(t.Context(), scope.Partners(acme.ID), made.ID)
	if err != nil || r.State != models.ReconciliationUploaded || r.FileName != "march.csv" ||
		r.FileSize != int64(len(list)) || r.CreatedBy != o.who.Name || r.Partner != "acme" || r.Profile.Rows != 2 {
		t.Errorf("got %+v and error %v", r, err)
	}
	s, err := o.Suggest(t.Context(), r)
	want := reconcile.Mapping{
		LeadID:  "leadId",
		Amount:  "Payout (GBP)",
		Fixed:   1,
		Date:    "when",
		Numbers: reconcile.CommaDecimal,
		Dates:   reconcile.DayFirst,
	}
	if err != nil || s.Mapping != want || s.Remembered || s.From.Format("2006-01-02") != "2026-01-31" ||
		s.To.Format("2006-01-02") != "2026-02-01" {
		t.Errorf("Suggest = %+v, %v, want %+v", s, err, want)
	}
	for name, err := range map[string]error{
		"Get with another scope": second(o.Get(t.Context(), scope.Partners(beta.ID), made.ID)),
		"Get an unknown id":      second(o.Get(t.Context(), scope.Everywhere, uuid.New())),
		"Upload with another scope": second(o.Upload(t.Context(), scope.Partners(beta.ID), acme.ID, "x",
			strings.NewReader(list))),
		"Upload for no partner": second(o.Upload(t.Context(), scope.Everywhere, uuid.New(), "x",
			strings.NewReader(list))),
		"Upload an empty file": second(o.Upload(t.Context(), scope.Everywhere, acme.ID, "x", strings.NewReader(""))),
	} {
		f := apperr.As(err)
		if f == nil || f.Code != apperr.NotFound && name != "Upload an empty file" {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if n := testkit.Value[int64](t, o.DB, `SELECT count(*) FROM files`); n != 1 {
		t.Errorf("got %d files, want 1", n)
	}
	if n := testkit.Value[int64](t, o.DB, `SELECT count(*) FROM audit_events WHERE action = 'reconciliation.upload' AND partner_id = $1`, acme.ID); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
}

func second[T any](_ T, err error) error { return err }

func TestSameFile(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme, beta := o.AddPartner(t, "acme", models.SigningRequired), o.AddPartner(t, "beta", models.SigningRequired)
	list := []string{"leadId,amount", leadID(uuid.New()) + ",1"}
	one, other, two := o.upload(t, acme.ID, list...), o.upload(t, beta.ID, list...), o.upload(t, acme.ID, list...)
	o.upload(t, acme.ID, list...) // later
	o.upload(t, acme.ID, append(list, "x,2")...)
	for name, c := range map[string]struct {
		sc   scope.Scope
		want []uuid.UUID
	}{
		"everywhere":  {scope.Everywhere, []uuid.UUID{other.ID, one.ID}},
		"one partner": {scope.Partners(acme.ID), []uuid.UUID{one.ID}},
	} {
		same, err := o.SameFile(t.Context(), c.sc, two)
		if got := ids(same); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: SameFile = %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func ids(all []reconcile.Reconciliation) (ids []uuid.UUID) {
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestList(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme, beta := o.AddPartner(t, "acme", models.SigningRequired), o.AddPartner(t, "beta", models.SigningRequired)
	var made []uuid.UUID
	for i := range 5 {
		partner := acme.ID
		if i == 2 {
			partner = beta.ID
		}
		made = append(made, o.upload(t, partner, "leadId,amount", leadID(uuid.New())+",1").ID)
	}
	for name, c := range map[string]struct {
		sc           scope.Scope
		q            reconcile.Query
		want         []int
		newer, older bool
	}{
		"first page": {
			scope.Everywhere, reconcile.Query{Page: postgres.Page[uuid.UUID]{Size: 2}}, []int{4, 3}, false, true,
		},
		"after an id": {
			scope.Everywhere, reconcile.Query{Page: postgres.Page[uuid.UUID]{Size: 2, After: made[3]}}, []int{2, 1}, true, true,
		},
		"last page": {
			scope.Everywhere, reconcile.Query{Page: postgres.Page[uuid.UUID]{Size: 2, After: made[1]}}, []int{0}, true, false,
		},
		"before an id": {
			scope.Everywhere, reconcile.Query{Page: postgres.Page[uuid.UUID]{Size: 2, Before: made[0]}}, []int{2, 1}, true, true,
		},
		"limited scope": {
			scope.Partners(beta.ID), reconcile.Query{Page: postgres.Page[uuid.UUID]{Size: 9}}, []int{2}, false, false,
		},
		"empty scope": {scope.Partners(), reconcile.Query{Page: postgres.Page[uuid.UUID]{Size: 9}}, nil, false, false},
		"filter by partner": {
			scope.Everywhere, reconcile.Query{Partner: beta.ID, Page: postgres.Page[uuid.UUID]{Size: 9}}, []int{2}, false, false,
		},
		"filter by state": {
			scope.Everywhere, reconcile.Query{State: models.ReconciliationSaved, Page: postgres.Page[uuid.UUID]{Size: 9}}, nil,
			false, false,
		},
	} {
		all, newer, older, err := o.List(t.Context(), c.sc, c.q)
		var want []uuid.UUID
		for _, i := range c.want {
			want = append(want, made[i])
		}
		if err != nil || !slices.Equal(ids(all), want) || newer != c.newer || older != c.older {
			t.Errorf("%s: %v, newer %t, older %t, %v, want %v, %t, %t", name, ids(all), newer, older, err, want, c.newer,
				c.older)
		}
	}
}

// An upload that is too large or incomplete leaves no file.
func TestFailedUploadLeavesNoFile(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	const limit = 600_000
	o.SetMaxFile(limit)
	list := append([]byte("leadId,amount\n"), bytes.Repeat([]byte("lead,1\n"), 100_000)...)
	upload := func(list io.Reader) error {
		_, err := o.Upload(t.Context(), scope.Everywhere, acme.ID, "x.csv", list)
		return err
	}
	if err := upload(bytes.NewReader(list)); apperr.As(err) == nil || apperr.As(err).Reason != "file_size" {
		t.Errorf("uploading %d bytes with a limit of %d: got %v, want file_size", len(list), limit, err)
	}
	broken := errors.New("connection lost")
	if err := upload(io.MultiReader(bytes.NewReader(list[:limit/2]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("incomplete upload: got %v, want %v", err, broken)
	}
	if n := testkit.Value[int64](t, o.DB, `SELECT count(*) FROM files`); n != 0 {
		t.Errorf("got %d files, want 0", n)
	}
}
