package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/pingpost/pingpost/models"
)

func pingScenario() *scenario {
	const p99 = "99th percentile of pings at 10,000 per second"
	return &scenario{
		name: "ping", title: "Ping", rounds: 7, length: 3 * time.Second, prepare: preparePings,
		text: `The load generator sends the same prebuilt pings to each server over 64 keep-alive connections. The pings
			are for all industries and for many countries, urgencies and postcodes, and use a partner's own base URL.

			**Product:** the whole service with production settings: partner lookup, strict parsing, price, sealed quote,
			metrics, an access log in a file, and the recorder, which writes to Postgres. **Bare Gin handler:** ¬gin.New()¬
			without middleware, ¬ShouldBindJSON¬ into a struct, and an answer of the same size with ¬c.JSON¬. **Handler with
			a GORM insert:** the same with one GORM ¬Create¬ for each ping, into an unpartitioned table with the same columns
			as ¬pings¬, over 64 connections with prepared statements. By default, GORM runs each ¬Create¬ in a transaction.

			At a fixed rate, requests are spread evenly over time. The latency of a request is measured from the time when it
			was due, even if no connection was free.`,
		figures: []*figure{
			ratio("product / bare Gin handler", "product", "bare", turn.rate).atLeast(0.85),
			ratio("product / handler with a GORM insert", "product", "gorm", turn.rate).atLeast(5.5),
			ratio("processor time per ping, product / bare Gin handler", "product", "bare", turn.cpuMicros).atMost(1.25),
			ratio(p99+", product / bare Gin handler", "product at a rate", "bare at a rate", turn.p99Micros).atMost(1.25),
			ratio("product that traces 1% of requests / product", "traced", "product", turn.rate).atLeast(0.95),
			ratio("product / handler with a GORM insert without a transaction", "product", "gorm untransacted", turn.rate),
			absolute("resident memory of the product after 500,000 pings", "product", turn.extraValue, "MB").atMost(120),
			absolute("product", "product", turn.rate, "pings per second"),
			absolute("bare Gin handler", "bare", turn.rate, "pings per second"),
			absolute("handler with a GORM insert", "gorm", turn.rate, "pings per second"),
			absolute(p99+", product", "product at a rate", turn.p99Micros, "µs"),
			absolute(p99+", bare Gin handler", "bare at a rate", turn.p99Micros, "µs"),
		},
	}
}

func preparePings(ctx context.Context, l *lab) ([]contender, error) {
	const rate = 10_000
	p, err := l.newProduct(ctx, "product_pings", productJob{})
	if err != nil {
		return nil, err
	}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // what a node sends is tested elsewhere
	}))
	l.cleanup(func() error { collector.Close(); return nil })
	traced, err := l.newProduct(ctx, "traced_pings", productJob{TraceEndpoint: collector.URL})
	if err != nil {
		return nil, err
	}
	d, err := l.newDatabase(ctx, "gorm_pings")
	if err != nil {
		return nil, err
	}
	if err := d.exec(ctx, `CREATE TABLE plain_pings (LIKE pings)`,
		`CREATE INDEX plain_pings_issued_at ON plain_pings USING brin (issued_at)`,
		`GRANT INSERT ON plain_pings TO pingpost_app`); err != nil {
		return nil, err
	}
	var stored int64
	l.check(func(ctx context.Context) error { return d.checkRows(ctx, "plain_pings", stored, stored) })
	var baselines []contender
	for _, b := range []struct {
		name string
		job  baselineJob
		rate int
	}{
		{"bare", baselineJob{}, 0},
		{"gorm", baselineJob{DatabaseURL: d.url}, 0},
		{"gorm untransacted", baselineJob{DatabaseURL: d.url, SkipTransaction: true}, 0},
		{"bare at a rate", baselineJob{}, rate},
	} {
		server, address, err := l.startServer(ctx, "baseline", b.job)
		if err != nil {
			return nil, err
		}
		send := func(ctx context.Context, length time.Duration) (turn, error) {
			t, err := loadJob{Address: address, Rate: b.rate}.run(ctx, length)
			if b.job.DatabaseURL != "" {
				stored += t.count
			}
			return t, err
		}
		baselines = append(baselines, contender{name: b.name, pid: server.cmd.Process.Pid, run: send})
	}
	all := append([]contender{p.sendsPings("product", loadJob{}), traced.sendsPings("traced", loadJob{})}, baselines...)
	return append(all, p.sendsPings("product at a rate", loadJob{Rate: rate})), nil
}

// pingRequest and pingResponse are the bodies of a ping, as a typical Gin handler would declare them.
type pingRequest struct {
	Industry string `json:"industry"`
	Postcode string `json:"postcode"`
	Country  string `json:"country"`
	Urgency  string `json:"urgency"`
	JobType  string `json:"job_type"`
	Budget   string `json:"budget"`
}

type pingResponse struct {
	Accepted      bool    `json:"accepted"`
	BidPrice      float64 `json:"bidPrice"`
	Currency      string  `json:"currency"`
	TransactionID string  `json:"transactionId"`
	ExpiresAt     string  `json:"expiresAt"`
}

// baselineJob selects a baseline for pings.
type baselineJob struct {
	DatabaseURL     string // "" to store nothing
	SkipTransaction bool   // for each Create
}

// serveBaseline is the role of the baselines for pings. They decode the request, store it with GORM if there is
// a database, and encode an answer of the same size as the product's.
func serveBaseline(parent *link) error {
	var job baselineJob
	if err := parent.Decode(&job); err != nil {
		return err
	}
	store := func(context.Context, *pingRequest) error { return nil }
	if job.DatabaseURL != "" {
		db, _, err := openGorm(job.DatabaseURL, job.SkipTransaction, defaultConnections)
		if err != nil {
			return err
		}
		store = func(ctx context.Context, r *pingRequest) error { return db.WithContext(ctx).Create(r.row()).Error }
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: pingHandler(store)} //nolint:gosec // time limits would slow it down
	go server.Serve(listener)                           //nolint:errcheck // the load generator reports failures
	err = parent.Encode(listener.Addr().String())
	parent.wait()
	return errors.Join(err, server.Close())
}

func pingHandler(store func(context.Context, *pingRequest) error) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.POST(partnerPath(":slug", "ping"), func(c *gin.Context) {
		var request pingRequest
		if err := c.ShouldBindJSON(&request); err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		if err := store(c.Request.Context(), &request); err != nil {
			c.Status(http.StatusInternalServerError)
			return
		}
		c.JSON(http.StatusOK, pingResponse{
			Accepted: true, BidPrice: 72.96, Currency: "GBP", ExpiresAt: "2026-01-02T03:19:05.678Z",
			TransactionID: transactionText,
		})
	})
	return engine
}

// transactionText is as long as the product's.
var transactionText = "tx_" + strings.Repeat("A", 99)

// plainPing is a row of the table plain_pings.
type plainPing struct {
	Transaction uuid.UUID
	IssuedAt    time.Time
	PartnerID   uuid.UUID
	Sandbox     bool
	TermID      int
	Country     string
	Postcode    string
	Urgency     string
	JobType     string
	Budget      string
	Outcome     string
	PriceMinor  int64
	Currency    string
	CardVersion int
	DurationUS  int64 `gorm:"column:duration_us"`
}

// TableName implements gorm's Tabler.
func (plainPing) TableName() string { return "plain_pings" }

func (r *pingRequest) row() *plainPing {
	return &plainPing{
		Transaction: uuid.New(), IssuedAt: now(), PartnerID: models.PlatformIDs.Partner, TermID: 117, Country: r.Country,
		Postcode: r.Postcode, Urgency: r.Urgency, JobType: r.JobType, Budget: r.Budget, Outcome: "priced",
		PriceMinor: 7296, Currency: "GBP", CardVersion: 1,
	}
}

// openGorm opens GORM with the given number of connections, and without a log.
func openGorm(url string, skipTransaction bool, connections int) (db *gorm.DB, pool *sql.DB, err error) {
	db, err = gorm.Open(postgres.Open(url), &gorm.Config{
		SkipDefaultTransaction: skipTransaction, Logger: logger.Discard,
	})
	if err != nil {
		return nil, nil, err
	}
	pool, err = db.DB()
	if err != nil {
		return nil, nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	for range connections { // open all connections, so that no turn includes the time for connecting
		c, err := pool.Conn(context.Background())
		if err != nil {
			return nil, nil, err
		}
		defer c.Close() // returns it to the pool when all are open
	}
	return db, pool, nil
}
