package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/bench/load"
	"github.com/pingpost/pingpost/bench/sample"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// postsJob describes the posts to send. The field Again is the share of posts that are replays. The
// field Bad is the share of posts that the database rejects.
type postsJob struct {
	Address   string
	Partner   sample.Partner
	QuoteKeys [][]byte
	For       time.Duration
	Count     int
	Rate      int // per second; 0 for no limit
	Again     float64
	Bad       float64

	Connections int  // 0 for the default
	Shed        bool // the service may reject posts because it is overloaded
}

func playPosts(ctx context.Context, l *child.Link) error {
	var job postsJob
	if err := l.Next(&job); err != nil {
		return err
	}
	quotes, err := quote.NewSealer(job.QuoteKeys)
	if err != nil {
		return err
	}
	table, err := shippedTable()
	if err != nil {
		return err
	}
	poster := sample.Poster{Partner: job.Partner, Quotes: quotes, Table: table, Again: job.Again, Bad: job.Bad}
	requests, err := poster.Posts(job.Address, job.Count, clock.System{}.Now())
	if err != nil {
		return err
	}
	return play(ctx, l, load.Job{
		Address:     job.Address,
		Requests:    requests,
		Once:        true,
		For:         job.For,
		Rate:        job.Rate,
		Connections: job.Connections,
	})
}

func shippedTable() (*pricingrules.Table, error) {
	tax, markets, card, err := pricingrules.Shipped()
	if err != nil {
		return nil, err
	}
	return pricingrules.Compile(card, tax, markets)
}

type gormPostJob struct {
	URL         string
	Rows        rowSizes
	For         time.Duration
	Connections int
}

// playGormPost stores each lead with five Creates in one transaction. It runs one goroutine for each
// connection.
func playGormPost(ctx context.Context, l *child.Link) error {
	var job gormPostJob
	if err := l.Next(&job); err != nil {
		return err
	}
	db, err := openGorm(ctx, job.URL, false, job.Connections)
	if err != nil {
		return err
	}
	r, err := job.run(ctx, db)
	if err != nil {
		return err
	}
	return l.Say(r)
}

func (j gormPostJob) run(ctx context.Context, db *gorm.DB) (round, error) {
	var over atomic.Bool
	defer context.AfterFunc(ctx, func() { over.Store(true) })()
	defer time.AfterFunc(j.For, func() { over.Store(true) }).Stop()
	before, err := child.ReadUsage()
	if err != nil {
		return round{}, err
	}
	var all sync.WaitGroup
	var count atomic.Int64
	failures := make([]error, j.Connections)
	start := clock.System{}.Now()
	for i := range failures {
		all.Go(func() {
			for !over.Load() && failures[i] == nil {
				if failures[i] = j.Rows.create(db.WithContext(ctx)); failures[i] == nil {
					count.Add(1)
				}
			}
		})
	}
	all.Wait()
	took := clock.System{}.Now().Sub(start)
	after, err := child.ReadUsage()
	return round{
		Count:   count.Load(),
		Elapsed: took,
		CPU:     after.CPU - before.CPU,
	}, errors.Join(errors.Join(failures...), err)
}

// rowSizes contains the average length of each value in the product's rows, in bytes. The baselines
// store values of the same lengths.
type rowSizes struct {
	TransactionID, Ciphertext, WrappedKey int
	CertURL, LeadToken, Detail, Receipt   int
}

const readRowSizes = `SELECT avg(length(l.transaction_id))::int, avg(length(l.ciphertext))::int, avg(length(k.wrapped_key))::int,
	avg(length(c.form_cert_url))::int, avg(length(c.third_party_lead_id))::int,
	avg(length(e.detail::text))::int, avg(length(a.reference))::int
	FROM leads l JOIN lead_keys k ON k.lead_id = l.id JOIN consents c ON c.lead_id = l.id JOIN lead_events e ON e.lead_id = l.id JOIN ledger_entries a ON a.lead_id = l.id`

func (s *rowSizes) fields() []any {
	return []any{&s.TransactionID, &s.Ciphertext, &s.WrappedKey, &s.CertURL, &s.LeadToken, &s.Detail, &s.Receipt}
}

// create stores a lead and its key, consent, ledger entry and event.
func (s rowSizes) create(db *gorm.DB) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	now := clock.System{}.Now()
	lead := s.lead(id, now)
	at, hash, url, token := text(24), text(64), text(s.CertURL), text(s.LeadToken)
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&lead).Error; err != nil {
			return err
		}
		if err := tx.Create(&models.LeadKey{
			LeadID:     id,
			Salt:       noise(16),
			WrappedKey: noise(s.WrappedKey),
			KeyWrapper: "local",
			KeyVersion: "5f1c09aa",
			BodyDigest: noise(36),
		}).Error; err != nil {
			return err
		}
		if err := tx.Create(&models.Consent{
			LeadID:           id,
			PartnerID:        lead.PartnerID,
			Acknowledged:     true,
			AcknowledgedAt:   &now,
			AcknowledgedText: &at,
			DisclosureDigest: noise(sha256.Size),
			RecipientHash:    &hash,
			FormCertURL:      &url,
			ThirdPartyLeadID: &token,
			ReceivedAt:       now,
		}).Error; err != nil {
			return err
		}
		if err := tx.Create(&models.LedgerEntry{
			PartnerID:   lead.PartnerID,
			AccountID:   lead.AccountID,
			LeadID:      &id,
			Kind:        models.EntryAccrual,
			Reference:   id.String(),
			AmountMinor: lead.PriceMinor,
			Currency:    lead.Currency,
			OccurredAt:  now,
		}).Error; err != nil {
			return err
		}
		return tx.Create(&models.LeadEvent{
			LeadID: id,
			Kind:   models.EventDelivered,
			Detail: s.EventDetail(),
			At:     now,
		}).Error
	})
}

func (s rowSizes) lead(id uuid.UUID, now time.Time) models.Lead {
	secret := models.PlatformIDs.Account // any ID, because the column has no foreign key
	return models.Lead{
		ID:             id,
		AttemptID:      uuid.New(),
		TransactionID:  text(s.TransactionID),
		PartnerID:      models.PlatformIDs.Partner,
		AccountID:      models.PlatformIDs.Account,
		SecretID:       &secret,
		HMACVerified:   true,
		State:          models.LeadDelivered,
		PriceMinor:     7296,
		Currency:       "GBP",
		Industry:       "water-heater-installer",
		TermID:         117,
		Urgency:        "emergency",
		CardVersion:    1,
		QuotedPartner:  &models.PlatformIDs.Partner,
		QuotedCountry:  "GB",
		QuotedPostcode: "SW1A 1AA",
		QuotedAt:       now,
		ReceivedAt:     now,
		Country:        "GB",
		Postcode:       "SW1A 1AA",
		SubID:          "campaign-07",
		EmailDigest:    noise(36),
		PhoneDigest:    noise(36),
		Ciphertext:     noise(s.Ciphertext),
		IV:             noise(12),
		AuthTag:        noise(16),

		PartnerReference: uuid.NewString(),
	}
}

// EventDetail returns a JSON object of the same size as the product's event details. The pgbench
// script's template calls it.
func (s rowSizes) EventDetail() string { return `{"request_id":"` + text(max(s.Detail-17, 0)) + `"}` }

// noise returns n random bytes, which do not compress.
func noise(n int) []byte {
	b := make([]byte, n+8)
	for at := 0; at < n; at += 8 {
		word := rand.Uint64()
		for i := range 8 {
			b[at+i] = byte(word >> (8 * i))
		}
	}
	return b[:n]
}

func text(n int) string {
	b := noise(n)
	for i, c := range b {
		b[i] = 'a' + c%26
	}
	return string(b)
}
