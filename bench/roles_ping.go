package main

import (
	"context"
	"database/sql"
	"net/http"
	"runtime"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/bench/load"
	"github.com/pingpost/pingpost/bench/sample"
	"github.com/pingpost/pingpost/internal/base/clock"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// bareRequest and bareAnswer are the request and response bodies of a ping, as a typical Gin handler
// would declare them.
type bareRequest struct {
	Industry string `json:"industry"`
	Postcode string `json:"postcode"`
	Country  string `json:"country"`
	Urgency  string `json:"urgency"`
	JobType  string `json:"job_type"`
	Budget   string `json:"budget"`
}

type bareAnswer struct {
	Accepted      bool    `json:"accepted"`
	BidPrice      float64 `json:"bidPrice"`
	Currency      string  `json:"currency"`
	TransactionID string  `json:"transactionId"`
	ExpiresAt     string  `json:"expiresAt"`
}

// answer returns a response to a ping. It has the same size as the product's response.
func answer() bareAnswer {
	return bareAnswer{
		Accepted:      true,
		BidPrice:      72.96,
		Currency:      "GBP",
		TransactionID: "tx_AQIBk0l3mZV6f4mH1u8c2g0oR5tYw7xB9dE3hK6nQ8sVzA1C4F7JMPSUXaegjloruydcBkTbWqLiOvN2I5GHZpDfYhJmKnQrSt",
		ExpiresAt:     "2026-01-02T03:19:05.678Z",
	}
}

// playBare runs the baseline for pings: a Gin handler without middleware. The handler decodes the
// request, encodes a fixed response, and does nothing else.
func playBare(ctx context.Context, l *child.Link) error {
	if err := l.Next(new(any)); err != nil {
		return err
	}
	return serve(ctx, l, pingEngine(func(*gin.Context, *bareRequest) error { return nil }))
}

func pingEngine(record func(*gin.Context, *bareRequest) error) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.POST(sample.PingPath(":slug"), func(c *gin.Context) {
		var request bareRequest
		if err := c.ShouldBindJSON(&request); err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		if err := record(c, &request); err != nil {
			c.Status(http.StatusInternalServerError)
			return
		}
		c.JSON(http.StatusOK, answer())
	})
	return engine
}

// plainPing is a row of plain_pings, a table with the same columns as pings but without partitions.
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

const makePlainPings = `CREATE TABLE plain_pings (LIKE pings);
	CREATE INDEX plain_pings_issued_at ON plain_pings USING brin (issued_at);
	GRANT INSERT ON plain_pings TO pingpost_app`

// gormPingJob contains the options for storing pings with GORM. SkipTransaction turns off the
// transaction in which GORM runs every write by default.
type gormPingJob struct {
	URL             string
	SkipTransaction bool
}

// playGormPing runs the same handler as playBare, but stores each ping with a GORM Create.
func playGormPing(ctx context.Context, l *child.Link) error {
	var job gormPingJob
	if err := l.Next(&job); err != nil {
		return err
	}
	db, err := openGorm(ctx, job.URL, job.SkipTransaction, load.Connections)
	if err != nil {
		return err
	}
	partner := uuid.New()
	return serve(ctx, l, pingEngine(func(c *gin.Context, r *bareRequest) error {
		return db.WithContext(c.Request.Context()).Create(&plainPing{
			Transaction: uuid.New(),
			IssuedAt:    clock.System{}.Now(),
			PartnerID:   partner,
			TermID:      117,
			Country:     r.Country,
			Postcode:    r.Postcode,
			Urgency:     r.Urgency,
			JobType:     r.JobType,
			Budget:      r.Budget,
			Outcome:     "priced",
			PriceMinor:  7296,
			Currency:    "GBP",
			CardVersion: 1,
		}).Error
	}))
}

// openGorm opens GORM. To make GORM faster, it keeps all connections open and disables the log. If the
// parameter skipTransaction is true, it also turns off the transaction around single writes. All other
// settings have their defaults.
func openGorm(ctx context.Context, url string, skipTransaction bool, connections int) (*gorm.DB, error) {
	db, err := gorm.Open(postgres.Open(url), &gorm.Config{
		SkipDefaultTransaction: skipTransaction,
		Logger:                 logger.Discard,
	})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return db, connectAll(ctx, pool, connections)
}

// connectAll opens all of the pool's connections, so that the measurement does not include the time for
// connecting.
func connectAll(ctx context.Context, pool *sql.DB, connections int) error {
	for range connections {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // return it to the pool only when all are open
	}
	return nil
}

// TableName tells GORM the name of the table.
func (plainPing) TableName() string { return "plain_pings" }

type pingsJob struct {
	Address, Slug string
	For           time.Duration
	Count         int64
	Rate          int // per second; 0 for no limit
}

// differentPings is the number of distinct pings. The load sends them again when all have been sent.
const differentPings = 4096

func playPings(ctx context.Context, l *child.Link) error {
	var job pingsJob
	if err := l.Next(&job); err != nil {
		return err
	}
	tax, _, _, err := pricingrules.Shipped()
	if err != nil {
		return err
	}
	return play(ctx, l, load.Job{
		Address:  job.Address,
		Requests: sample.Pings(job.Address, job.Slug, tax, differentPings),
		For:      job.For,
		Count:    job.Count,
		Rate:     job.Rate,
	})
}

// loadResult is what a load process sends to the parent when the run has ended.
type loadResult struct {
	load.Result
	CPU time.Duration // processor time of the run, excluding the time for preparing requests
}

// play runs a load on one processor and leaves the others to the server.
func play(ctx context.Context, l *child.Link, job load.Job) error {
	runtime.GOMAXPROCS(1)
	before, err := child.ReadUsage()
	if err != nil {
		return err
	}
	result, err := load.Run(ctx, job)
	if err != nil {
		return err
	}
	after, err := child.ReadUsage()
	if err != nil {
		return err
	}
	return l.Say(loadResult{result, after.CPU - before.CPU})
}
