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
	"github.com/pingpost/pingpost/internal/clock"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// bareRequest and bareAnswer are the bodies of a ping and its answer in a typical Gin handler.
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

// answer returns an answer with the same length as the product's.
func answer() bareAnswer {
	return bareAnswer{
		Accepted:      true,
		BidPrice:      72.96,
		Currency:      "GBP",
		TransactionID: "tx_AQIBk0l3mZV6f4mH1u8c2g0oR5tYw7xB9dE3hK6nQ8sVzA1C4F7JMPSUXaegjloruydcBkTbWqLiOvN2I5GHZpDfYhJmKnQrSt",
		ExpiresAt:     "2026-01-02T03:19:05.678Z",
	}
}

// playBare is the baseline for pings: a Gin handler without middleware that only decodes the request and
// encodes the answer.
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

// plainPing is a row of plain_pings, an unpartitioned table with the columns of pings.
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

// gormPingJob contains the options for storing pings: with GORM's defaults, or without the transaction that
// GORM uses for every statement.
type gormPingJob struct {
	URL             string
	SkipTransaction bool
}

// playGormPing is the same handler with a GORM Create for each ping.
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

// openGorm opens GORM with its defaults, apart from two that would slow it down: the limit of two idle
// connections and the log.
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

// connectAll opens the pool's connections before the measurement.
func connectAll(ctx context.Context, pool *sql.DB, connections int) error {
	for range connections {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // returns to the pool when all are open
	}
	return nil
}

// TableName implements GORM's Tabler.
func (plainPing) TableName() string { return "plain_pings" }

// pingsJob is a run of pings.
type pingsJob struct {
	Address, Slug string
	For           time.Duration
	Count         int64
	Rate          int // per second; 0 for no limit
}

// differentPings is the number of different pings, which are sent repeatedly.
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

// loadResult is the result that a load process sends at its end.
type loadResult struct {
	load.Result
	CPU time.Duration // processor time of the run, without preparing requests
}

// play runs a load on at most one processor, to leave the others to the server.
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
