package postgres_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/testkit"
)

// A server that accepts connections and does not answer, like one that is overloaded, gets only a few of them.
func TestFewConnectionsAreEstablishedAtOnce(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepted atomic.Int64
	var silent sync.WaitGroup
	silent.Go(func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			defer conn.Close() //nolint:gocritic // kept open until the end
			accepted.Add(1)
		}
	})
	db, err := postgres.Open(t.Context(), postgres.Options{
		URL:            "postgres://app@" + server.Addr().String() + "/pingpost?sslmode=disable",
		MaxConnections: 20, ConnectTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		silent.Wait()
		db.Close()
	})
	ctx, cancel := context.WithCancel(t.Context())
	var requests sync.WaitGroup
	for range 20 {
		requests.Go(func() { db.Pool.Acquire(ctx) }) //nolint:errcheck // the server does not answer
	}
	const most = 4
	testkit.Eventually(t, time.Minute, "the pool connects", func() bool { return accepted.Load() >= most })
	testkit.Eventually(t, time.Minute, "all requests wait", func() bool { return db.Pool.Stat().ConstructingConns() == 20 })
	cancel()
	requests.Wait()
	if n := accepted.Load(); n != most {
		t.Errorf("got %d connections at once, want %d", n, most)
	}
}
