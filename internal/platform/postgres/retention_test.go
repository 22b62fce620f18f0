package postgres_test

import (
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

const insertTraffic = `INSERT INTO traffic_minutes SELECT $1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'post', 'delivered', 1, '{1}'
	FROM generate_series(1, $2::int)`

func TestDeleteTraffic(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	for _, minute := range []time.Time{began.Add(-time.Minute), began, began.Add(time.Minute)} {
		d.Exec(t, insertTraffic, minute, 1)
	}
	if n, err := d.DeleteTrafficMinutes(t.Context(), began); err != nil || n != 1 {
		t.Errorf("deleted %d (%v), want 1", n, err)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM traffic_minutes`); n != 2 {
		t.Errorf("got %d rows left, want 2", n)
	}
}

// Many counters are deleted in several statements. A counter that is locked by another node
// does not delay the others.
func TestDeleteTrafficInBatches(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	d.Exec(t, insertTraffic, began.Add(-time.Hour), 1)
	d.Exec(t, insertTraffic, began.Add(-time.Minute), 12_000)
	other := testkit.Connect(t, d.AppURL)
	for _, sql := range []string{`BEGIN`, `DELETE FROM traffic_minutes WHERE minute = (SELECT min(minute) FROM traffic_minutes)`} {
		if _, err := other.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := d.DeleteTrafficMinutes(t.Context(), began); err != nil || n != 12_000 {
		t.Errorf("deleted %d (%v), want all except the locked one", n, err)
	}
}

func TestDeleteRequests(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	for _, at := range []time.Time{began.Add(-time.Minute), began, began.Add(time.Minute)} {
		d.Exec(t, `INSERT INTO api_requests (partner_id, at, request_id, kind, endpoint, outcome, fields, status, code, message, detail, duration_us)
			SELECT gen_random_uuid(), $1, gen_random_uuid(), 'ping', 'ping', 'json', '{}', 400, '', '', '', 1 FROM generate_series(1, 6000)`, at)
	}
	if n, err := d.DeleteRequests(t.Context(), began); err != nil || n != 6000 {
		t.Errorf("deleted %d (%v), want 6000", n, err)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM api_requests WHERE at >= $1`, began); n != 12_000 {
		t.Errorf("got %d rows left, want 12000", n)
	}
}

func TestDeletePostDurations(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	for _, at := range []time.Time{began.Add(-time.Minute), began, began.Add(time.Minute)} {
		d.Exec(t, `INSERT INTO post_durations VALUES ($1, 12000)`, id.New(at))
	}
	if n, err := d.DeletePostDurations(t.Context(), began); err != nil || n != 1 {
		t.Errorf("deleted %d (%v), want 1", n, err)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM post_durations`); n != 2 {
		t.Errorf("got %d rows left, want 2", n)
	}
}
