package audit_test

import (
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
)

// The transaction that creates an object claims the submission. It may write several events. Other
// transactions with the same submission fail.
func TestSubmissionIsClaimedOnce(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	person := uuid.New()
	if _, err := c.Pool.Exec(t.Context(), `INSERT INTO staff (id, email, name, status, created_at, updated_at) VALUES ($1, 'ada@example.com', 'Ada', 'invited', now(), now())`, person); err != nil {
		t.Fatal(err)
	}
	by := audit.Actor{
		Staff: person,
		Name:  "ada@example.com",
		Form:  audit.Submission{Path: "/partners/new", Key: uuid.New()},
	}
	write := func(by audit.Actor, objects ...string) error {
		return c.Transaction(t.Context(), func(tx *gorm.DB) error {
			for _, object := range objects {
				if err := audit.Write(tx, testkit.StartTime(), by, audit.Event{Action: "partner.create", Kind: "partner", Object: object}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	root := testkit.Connect(t, c.RootURL)
	for _, sql := range []string{
		`CREATE SEQUENCE claims`,
		`CREATE FUNCTION count_claim() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN PERFORM nextval('public.claims'); RETURN NULL; END $$`,
		`CREATE TRIGGER count_claim AFTER INSERT ON form_submissions FOR EACH STATEMENT EXECUTE FUNCTION count_claim()`,
	} {
		if _, err := root.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.LogRejected(t.Context(), by, audit.Event{Action: "partner.create"}); err != nil {
		t.Fatal(err)
	}
	if _, found, err := c.Submitted(t.Context(), by.Staff, by.Form); found || err != nil {
		t.Errorf("Submitted before the submission: %t, %v, want false", found, err)
	}
	if err := write(by, "first", "second"); err != nil {
		t.Fatal(err)
	}
	var claims int
	if err := root.QueryRow(t.Context(), `SELECT last_value FROM claims WHERE is_called`).Scan(&claims); err != nil || claims != 1 {
		t.Errorf("got %d claims and error %v, want 1", claims, err)
	}
	if err := write(by, "third"); apperr.As(err) == nil || apperr.As(err).Reason != "submitted" {
		t.Errorf("second transaction: %v, want submitted", err)
	}
	elsewhere := by
	elsewhere.Form.Path = "/payouts/runs/new"
	if err := write(elsewhere, "fourth"); err != nil {
		t.Errorf("same key on another form: %v", err)
	}
	if object, found, err := c.Submitted(t.Context(), by.Staff, by.Form); object != "first" || !found || err != nil {
		t.Errorf("Submitted = %q, %t, %v", object, found, err)
	}
	if n := testkit.Value[int](t, c.Database, `SELECT count(*) FROM audit_events WHERE outcome = 'done'`); n != 3 {
		t.Errorf("got %d events, want 3", n)
	}
}
