package postgres_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// silentServer returns a pool of 20 connections to a server that accepts connections and does not answer. It counts the
// connections.
func silentServer(t *testing.T, connectTimeout time.Duration) (*postgres.DB, *atomic.Int64) {
	t.Helper()
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
			defer conn.Close() // at the end
			accepted.Add(1)
		}
	})
	db, err := postgres.Open(t.Context(), postgres.Options{
		URL:            "postgres://app@" + server.Addr().String() + "/pingpost?sslmode=disable",
		MaxConnections: 20, ConnectTimeout: connectTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		silent.Wait()
		db.Close()
	})
	return db, &accepted
}

// A server that accepts connections and does not answer, like one that is overloaded, gets only a few of them.
func TestFewConnectionsAreEstablishedAtOnce(t *testing.T) {
	t.Parallel()
	db, accepted := silentServer(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	var requests sync.WaitGroup
	for range 20 {
		requests.Go(func() { db.Pool.Acquire(ctx) })
	}
	const most = 4
	testkit.Eventually(t, time.Minute, "the pool connects", func() bool { return accepted.Load() >= most })
	testkit.Eventually(t, time.Minute, "all requests wait",
		func() bool { return db.Pool.Stat().ConstructingConns() == 20 })
	cancel()
	requests.Wait()
	if n := accepted.Load(); n != most {
		t.Errorf("got %d connections at once, want %d", n, most)
	}
}

// The time limit of an attempt to connect starts when it has a slot. Otherwise, those that had to wait would have too
// little time on a slow server.
func TestWaitingForSlotTakesNoTimeToConnect(t *testing.T) {
	t.Parallel()
	db, accepted := silentServer(t, 200*time.Millisecond)
	const attempts = 12 // three for each slot
	var requests sync.WaitGroup
	for range attempts {
		requests.Go(func() {
			if _, err := db.Pool.Acquire(t.Context()); err == nil {
				t.Error("connected to a server that does not answer")
			}
		})
	}
	requests.Wait()
	testkit.Eventually(t, time.Minute, "all attempts have connected", func() bool { return accepted.Load() == attempts })
}

// The result of a lost commit is read on a connection that does not belong to the pool.
func TestConnectionOutsideThePool(t *testing.T) {
	t.Parallel()
	db := testkit.Open(t, testkit.NewDatabaseURLs(t).AppURL)
	conn, err := pgx.ConnectConfig(t.Context(), db.Pool.Config().ConnConfig.Copy())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
