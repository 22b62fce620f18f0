package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	postSize    = 2 << 10 // size of the verified post in bytes
	contactSize = 300     // size of the sealed contact record in bytes
)

// micro is a benchmark of one of the product's functions.
type micro struct {
	what     string
	limit    time.Duration
	noAllocs bool
	product  func(*testing.B)
	floor    func(*testing.B) // the bare operation, or nil
}

// micros measures the functions that handle requests. It also runs after each of the other parts,
// because a processor's speed varies over time.
func (b *bench) micros(ctx context.Context) error {
	all, err := b.listMicros(ctx)
	if err != nil {
		return err
	}
	app.TuneGC()   // as in the service, because the figures include garbage collection
	testing.Init() // defines the flag that is set below
	if err := flag.Set("test.benchtime", b.plan.MicroTime.String()); err != nil {
		return err
	}
	for _, m := range all {
		f := figure{
			part:    "micro",
			what:    m.what,
			unit:    "ns",
			limit:   float64(m.limit.Nanoseconds()),
			atMost:  true,
			fastest: true,
		}
		for range b.plan.MicroRounds {
			result, err := measure(m.product)
			if err != nil {
				return fmt.Errorf("%s: %w", m.what, err)
			}
			f.values = append(f.values, perOperation(result))
			if allocs := result.AllocsPerOp(); m.noAllocs && allocs > 0 {
				f.flaw = strconv.FormatInt(allocs, 10) + " allocations"
			}
			if m.floor == nil {
				continue
			}
			if result, err = measure(m.floor); err != nil {
				return fmt.Errorf("the bare operation of %s: %w", m.what, err)
			}
			f.floors = append(f.floors, perOperation(result))
		}
		b.progress("micro: %s: %s", f.what, f.spread())
		b.report.join(f)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func measure(do func(*testing.B)) (testing.BenchmarkResult, error) {
	result := testing.Benchmark(do)
	if result.N == 0 || result.Extra[cpuUnit] <= 0 {
		return result, errors.New("the benchmark failed")
	}
	return result, nil
}

const cpuUnit = "cpu-ns/op"

func perOperation(r testing.BenchmarkResult) float64 { return r.Extra[cpuUnit] }

// timed starts measuring the processor time of a benchmark. Defer the returned function, which reports
// the result. Other programs affect the processor time less than the elapsed time.
func timed(b *testing.B) (report func()) {
	before, err := child.ReadUsage()
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		after, err := child.ReadUsage()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64((after.CPU-before.CPU).Nanoseconds())/float64(b.N), cpuUnit)
	}
}

func (b *bench) listMicros(ctx context.Context) ([]micro, error) {
	if b.manyPartners == nil {
		var err error
		if b.manyPartners, err = b.newManyPartners(ctx); err != nil {
			return nil, err
		}
	}
	table, err := shippedTable()
	if err != nil {
		return nil, err
	}
	quotes, err := quote.NewSealer([][]byte{newKey()})
	if err != nil {
		return nil, err
	}
	local, err := envelope.NewLocal(newKey())
	if err != nil {
		return nil, err
	}
	wrappers := envelope.NewWrappers(local)
	bare, err := newBareOperations()
	if err != nil {
		return nil, err
	}
	return []micro{
		{what: "price a cell, without allocations", limit: 30, noAllocs: true, product: func(b *testing.B) {
			priceCell(b, table)
		}},
		{what: "seal a quote", limit: 600, product: func(b *testing.B) { sealQuote(b, quotes) }, floor: bare.sealQuote},
		{what: "open a quote", limit: 600, product: func(b *testing.B) { openQuote(b, quotes) }, floor: bare.openQuote},
		{what: "verify a post of 2 KiB", limit: 2000, product: verifyPost, floor: bare.hashPost},
		{what: "envelope with the local key", limit: 1500, product: func(b *testing.B) {
			sealContact(ctx, b, wrappers)
		}, floor: bare.sealContact},
		{
			what:    "reject a post of 2 KiB that none of " + strconv.Itoa(candidates) + " partners signed",
			limit:   500_000,
			product: b.manyPartners.search,
			floor:   bare.hashPosts,
		},
		{what: "find the account that a post names among " +
			grouped(int64(b.plan.ManyPartners)), limit: 2000, product: b.manyPartners.named},
	}, nil
}

func priceCell(b *testing.B, table *pricingrules.Table) {
	industries, markets := table.Taxonomy().Len(), table.Markets().Len()
	var cells [256]struct{ industry, market int }
	for i := range cells { // far apart, so that the processor's fastest cache does not contain all of them
		cells[i].industry, cells[i].market = i*97%industries, i*7%markets
	}
	b.ReportAllocs()
	var sum int64
	defer timed(b)()
	for i := 0; b.Loop(); i++ {
		c := &cells[i&255]
		sum += table.Price(c.industry, c.market, pricingrules.Class(i&3)).Minor
	}
	if sum == 0 {
		b.Fatal("everything is free")
	}
}

func quoted() quote.Quote {
	return quote.Quote{
		Price: money.Amount{Minor: 7296, Currency: money.GBP}, Country: [2]byte{'G', 'B'}, TermID: 117, Urgency: 1,
		Postcode: "SW1A 1AA", CardVersion: 7, Partner: uuid.New(),
	}
}

// moment returns a fixed time, which the measured functions use as the current time.
func moment() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC) }

func sealQuote(b *testing.B, s *quote.Sealer) {
	q, now := quoted(), moment()
	var space [quote.MaxLength]byte
	defer timed(b)()
	for b.Loop() {
		if _, _, err := s.Append(space[:0], q, now, [quote.RandomSize]byte{1, 2, 3}); err != nil {
			b.Fatal(err)
		}
	}
}

func openQuote(b *testing.B, s *quote.Sealer) {
	now := moment()
	token, _, err := s.Append(nil, quoted(), now, [quote.RandomSize]byte{1, 2, 3})
	if err != nil {
		b.Fatal(err)
	}
	text := string(token)
	defer timed(b)()
	for b.Loop() {
		if _, err := s.Open(text, now); err != nil {
			b.Fatal(err)
		}
	}
}

// verifyPost measures everything that checking a signature involves: the format of the headers, the age
// of the timestamp, and the HMAC.
func verifyPost(b *testing.B) {
	secret, body, now := []byte("a secret of 43 characters, as partners have"), noise(postSize), moment()
	stamp := strconv.FormatInt(now.Unix(), 10)
	headers := signing.Headers{Timestamp: []string{stamp}, Signature: []string{signing.Sign(secret, stamp, body)}}
	verifier := signing.NewVerifier(secret)
	defer timed(b)()
	for b.Loop() {
		claim, err := signing.Check(headers, now)
		if err != nil || !verifier.Verify(claim, body) {
			b.Fatal("not verified")
		}
	}
}

// sealContact measures the time to create a data key, wrap it, and encrypt a contact record with it.
func sealContact(ctx context.Context, b *testing.B, w *envelope.Wrappers) {
	lead, partner, plain := uuid.New(), uuid.New(), noise(contactSize)
	defer timed(b)()
	for b.Loop() {
		key, err := w.DataKey(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := envelope.Seal(key, lead, partner, plain); err != nil {
			b.Fatal(err)
		}
	}
}
