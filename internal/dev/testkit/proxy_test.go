package testkit

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestProxy(t *testing.T) {
	d := NewDatabaseURLs(t)
	proxy := NewProxy(t, d.AppURL)
	var n int

	conn := Connect(t, proxy.URL)
	if err := conn.QueryRow(t.Context(), "SELECT 1").Scan(&n); err != nil {
		t.Fatal(err)
	}
	proxy.Down()
	if err := conn.QueryRow(t.Context(), "SELECT 1").Scan(&n); err == nil {
		t.Error("a connection is still open after Down")
	}
	if c, err := pgx.Connect(t.Context(), proxy.URL); err == nil {
		_ = c.Close(t.Context())
		t.Error("a new connection was accepted")
	}
	proxy.Up()
	if err := Connect(t, proxy.URL).QueryRow(t.Context(), "SELECT 1").Scan(&n); err != nil {
		t.Error("connecting after Up:", err)
	}
}

func TestProxyDropsResponseToCommittedStatement(t *testing.T) {
	d := NewDatabaseURLs(t)
	proxy := NewProxy(t, d.AppURL)
	var called atomic.Bool
	proxy.DropResponse("INSERT 0 1", func() { called.Store(true) })

	_, err := Connect(t, proxy.URL).Exec(t.Context(), `INSERT INTO traffic_minutes (minute, partner_id, account_id, secret_id, endpoint, outcome, count, latency)
		VALUES (now(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'post', 'payload', 1, '{1}')`)
	if err == nil {
		t.Error("the answer was forwarded")
	}
	if !called.Load() {
		t.Error("the function was not called")
	}
	if n := Value[int](t, d, "SELECT count(*) FROM traffic_minutes"); n != 1 {
		t.Errorf("%d rows were committed, want 1", n)
	}
	if err := Connect(t, proxy.URL).Ping(t.Context()); err != nil {
		t.Error("connecting again:", err)
	}
}

func TestEventually(t *testing.T) {
	asked := 0
	Eventually(t, time.Minute, "the third answer", func() bool { asked++; return asked == 3 })
	if asked != 3 {
		t.Errorf("condition evaluated %d times", asked)
	}
}
