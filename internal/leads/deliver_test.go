package leads_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// delivery returns a post for the partner's default account, with a new transaction.
func delivery(p *testkit.Platform, partner testkit.Partner) *leads.Delivery {
	now := p.Time.Now()
	account := partner.Accounts[0]
	return &leads.Delivery{
		Lead: models.Lead{
			ID:             id.New(now),
			AttemptID:      uuid.New(),
			TransactionID:  "tx_test",
			PartnerID:      partner.ID,
			AccountID:      account.ID,
			SecretID:       &partner.SecretID,
			HMACVerified:   true,
			PriceMinor:     4560,
			Currency:       "GBP",
			Industry:       "plumber",
			TermID:         1077,
			Urgency:        "standard",
			CardVersion:    1,
			QuotedCountry:  "GB",
			QuotedPostcode: "SW1A 1AA",
			QuotedAt:       now,
			ReceivedAt:     now,
			Country:        "GB",
			Postcode:       "SW1A 1AA",
			EmailDigest:    []byte("email"),
			Ciphertext:     []byte("ciphertext"),
			IV:             bytes.Repeat([]byte{1}, 12),
			AuthTag:        bytes.Repeat([]byte{2}, 16),
		},
		Key: models.LeadKey{
			Salt:       bytes.Repeat([]byte{3}, 16),
			WrappedKey: []byte("local:1:x"),
			KeyWrapper: "local",
			KeyVersion: "1",
			BodyDigest: []byte("body"),
		},
		WrappingKey: p.Wrappers.Keys()[0].Key,
		Event:       models.LeadEvent{Kind: models.EventDelivered, Detail: `{"hmac_verified": true}`},
	}
}

func platform(t *testing.T) *testkit.Platform {
	t.Helper()
	return testkit.NewPlatform(t)
}

// stored returns the numbers of leads, consents, ledger entries and events, such as "1/1/1/1". It also
// checks that each lead has its keys.
func stored(t *testing.T, p *testkit.Platform) string {
	t.Helper()
	if n := testkit.Value[int](t, p.DB, `SELECT count(*) FROM leads l FULL JOIN lead_keys k ON k.lead_id = l.id WHERE l.id IS NULL OR k.lead_id IS NULL`); n != 0 {
		t.Errorf("got %d leads without keys, or keys without a lead", n)
	}
	return testkit.Value[string](t, p.DB, `SELECT concat_ws('/', (SELECT count(*) FROM leads), (SELECT count(*) FROM consents),
		(SELECT count(*) FROM ledger_entries), (SELECT count(*) FROM lead_events))`)
}

func TestDeliverIsIdempotent(t *testing.T) {
	t.Parallel()
	p := platform(t)
	first := delivery(p, p.Required)
	receipt, isNew, err := p.Leads.Deliver(t.Context(), first)
	if err != nil || !isNew || receipt.LeadID != first.Lead.ID ||
		receipt.Payout != (money.Amount{Minor: 4560, Currency: money.GBP}) {
		t.Fatalf("got receipt %+v, stored %v and error %v", receipt, isNew, err)
	}
	again := delivery(p, p.Required)
	again.Lead.ID = first.Lead.ID
	second, isNew, err := p.Leads.Deliver(t.Context(), again)
	if err != nil || isNew || fmt.Sprint(second) != fmt.Sprint(receipt) {
		t.Fatalf("got receipts %+v and %+v (stored %v, error %v), want the same twice", receipt, second, isNew, err)
	}
	if got := stored(t, p); got != "1/1/1/1" {
		t.Errorf("stored %s rows, want 1/1/1/1", got)
	}
	if receipt.Envelope.Salt != nil || second.Envelope.Salt != nil {
		t.Error("a receipt contains the salt")
	}
}

func TestEveryColumnIsStored(t *testing.T) {
	t.Parallel()
	p := platform(t)
	d := delivery(p, p.Required)
	at, hash, url, token, text := p.Time.Now().Add(-time.Minute), "ab12", "https://cert.example.com/1", "token", "I agree – yes"
	quoted := p.Required.ID
	d.Lead.QuotedPartner, d.Lead.PhoneDigest, d.Lead.PhoneFlagged = &quoted, []byte("phone"), true
	d.Consent = models.Consent{
		AcknowledgedAt:   &at,
		RecipientHash:    &hash,
		FormCertURL:      &url,
		ThirdPartyLeadID: &token,
		DisclosureText:   &text,
	}
	if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var lead models.Lead
	var key models.LeadKey
	var consent models.Consent
	var entry models.LedgerEntry
	var event models.LeadEvent
	var disclosure models.Disclosure
	for _, row := range []any{&lead, &key, &consent, &entry, &event, &disclosure} {
		if err := p.DB.Gorm.Take(row).Error; err != nil {
			t.Fatal(err)
		}
	}
	want := d.Lead
	want.State = models.LeadDelivered
	lead.QuotedAt, lead.ReceivedAt = lead.QuotedAt.UTC(), lead.ReceivedAt.UTC()
	if fmt.Sprintf("%+v", deref(lead)) != fmt.Sprintf("%+v", deref(want)) {
		t.Errorf("got lead\n%+v\nwant\n%+v", deref(lead), deref(want))
	}
	d.Key.LeadID = want.ID
	if fmt.Sprint(key) != fmt.Sprint(d.Key) {
		t.Errorf("got key %+v, want %+v", key, d.Key)
	}
	if consent.LeadID != want.ID || !consent.Acknowledged || !consent.AcknowledgedAt.Equal(at) ||
		*consent.RecipientHash != hash ||
		*consent.FormCertURL != url || *consent.ThirdPartyLeadID != token || consent.DisclosureText != nil {
		t.Errorf("got consent %+v", consent)
	}
	if digest := sha256.Sum256([]byte(text)); string(consent.DisclosureDigest) != string(digest[:]) || string(disclosure.Digest) != string(digest[:]) ||
		disclosure.Text != text || disclosure.PartnerID != p.Required.ID || !disclosure.FirstUsedAt.Equal(d.Lead.ReceivedAt) {
		t.Errorf("got disclosure %+v of consent %+v", disclosure, consent)
	}
	if entry.Kind != models.EntryAccrual || entry.AmountMinor != 4560 ||
		entry.Reference != id.Format(id.Lead, want.ID) || *entry.LeadID != want.ID {
		t.Errorf("got entry %+v", entry)
	}
	if event.LeadID != want.ID || event.Kind != models.EventDelivered || event.Detail != `{"hmac_verified": true}` {
		t.Errorf("got event %+v", event)
	}
}

// deref makes leads comparable as text. Otherwise pointers would be printed as addresses.
func deref(l models.Lead) any {
	secret, quoted := *l.SecretID, *l.QuotedPartner
	l.SecretID, l.QuotedPartner = nil, nil
	return []any{l, secret, quoted}
}

func TestConcurrentPostsStoreOneLead(t *testing.T) {
	t.Parallel()
	p := platform(t)
	transaction := id.New(p.Time.Now())
	const posts = 1000
	receipts := make([]leads.Receipt, posts)
	var fresh sync.Map
	inParallel(t, posts, func(i int) error {
		d := delivery(p, p.Required)
		d.Lead.ID = transaction
		receipt, isNew, err := p.Leads.Deliver(t.Context(), d)
		if receipts[i] = receipt; isNew {
			fresh.Store(receipt.LeadID, true)
		}
		return err
	})
	for _, r := range receipts {
		if fmt.Sprint(r) != fmt.Sprint(receipts[0]) {
			t.Fatalf("receipts differ: %+v and %+v", receipts[0], r)
		}
	}
	n := 0
	fresh.Range(func(_, _ any) bool { n++; return true })
	if got := stored(t, p); got != "1/1/1/1" || n != 1 {
		t.Errorf("stored %s rows and reported %d posts as stored, want 1/1/1/1 and 1", got, n)
	}
}

func TestGroupAnswersEachPost(t *testing.T) {
	t.Parallel()
	p := platform(t)
	var bad, inactive, doubled sync.Map
	shared := id.New(p.Time.Now())
	const posts = 400
	inParallel(t, posts, func(i int) error {
		d := delivery(p, p.Required)
		switch {
		case i%20 == 3: // rejected by a constraint
			d.Lead.IV = []byte("short")
			_, _, err := p.Leads.Deliver(t.Context(), d)
			var rejected *postgres.Err
			if !errors.As(err, &rejected) || rejected.Constraint != "leads_iv_size" {
				return fmt.Errorf("an invalid row: %w", err)
			}
			bad.Store(i, true)
			return nil
		case i%20 == 7: // unknown secret
			other := uuid.New()
			d.Lead.SecretID = &other
			if _, _, err := p.Leads.Deliver(t.Context(), d); !errors.Is(err, leads.ErrInactiveSecret) {
				return fmt.Errorf("an unknown secret: %w", err)
			}
			inactive.Store(i, true)
			return nil
		case i%20 == 11: // the same transaction for all of these
			d.Lead.ID = shared
			_, isNew, err := p.Leads.Deliver(t.Context(), d)
			if isNew {
				doubled.Store(i, true)
			}
			return err
		}
		receipt, isNew, err := p.Leads.Deliver(t.Context(), d)
		if err == nil && (!isNew || receipt.LeadID != d.Lead.ID) {
			err = errors.New("a valid row got the result of another row")
		}
		return err
	})
	count := func(m *sync.Map) (n int) { m.Range(func(_, _ any) bool { n++; return true }); return n }
	if count(&bad) != 20 || count(&inactive) != 20 || count(&doubled) != 1 {
		t.Errorf("got %d invalid, %d inactive and %d stored with the shared transaction, want 20, 20 and 1", count(&bad),
			count(&inactive), count(&doubled))
	}
	if got := stored(t, p); got != "341/341/341/341" {
		t.Errorf("stored %s rows, want 341 (340 valid and one shared)", got)
	}
}

func TestDeliverRejectsInactiveSenders(t *testing.T) {
	t.Parallel()
	p := platform(t)
	for name, change := range map[string]string{
		"partner suspended":    `UPDATE partners SET status = 'suspended' WHERE id = $1`,
		"partner pending":      `UPDATE partners SET status = 'pending' WHERE id = $1`,
		"account suspended":    `UPDATE accounts SET status = 'suspended' WHERE partner_id = $1`,
		"secret revoked":       `UPDATE signing_secrets SET state = 'revoked', revoked_at = now() WHERE partner_id = $1`,
		"secret expired":       `UPDATE signing_secrets SET expires_at = '2026-01-02 03:04:05.678Z' WHERE partner_id = $1`,
		"secret not valid yet": `UPDATE signing_secrets SET not_before = '2026-01-02 03:04:05.679Z' WHERE partner_id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			partner := p.AddPartner(t, strings.ReplaceAll(name, " ", "-"), models.SigningRequired)
			p.DB.Exec(t, change, partner.ID)
			want := leads.ErrInactive
			if strings.HasPrefix(name, "secret") {
				want = leads.ErrInactiveSecret
			}
			if _, _, err := p.Leads.Deliver(t.Context(), delivery(p, partner)); !errors.Is(err, want) {
				t.Errorf("got error %v, want %v", err, want)
			}
			if got := stored(t, p); got != "0/0/0/0" {
				t.Errorf("stored %s rows, want 0/0/0/0", got)
			}
		})
	}
}

func TestSandboxLeadEarnsNothing(t *testing.T) {
	t.Parallel()
	p := platform(t)
	d := delivery(p, p.Required)
	d.Lead.AccountID, d.Lead.Sandbox = p.Required.Accounts[1].ID, true
	if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, p); got != "1/1/0/1" {
		t.Errorf("stored %s rows, want 1/1/0/1", got)
	}
}

func TestLostAnswerIsReadBack(t *testing.T) {
	t.Parallel()
	db, proxy := testkit.NewDatabaseBehind(t)
	p := testkit.NewPlatformOn(t, db)
	d := delivery(p, p.Required)
	proxy.DropResponse(string(d.Lead.AttemptID[:]), nil)
	receipt, isNew, err := p.Leads.Deliver(t.Context(), d)
	if err != nil || !isNew || receipt.LeadID != d.Lead.ID {
		t.Fatalf("got receipt %+v, stored %v and error %v, want the committed lead", receipt, isNew, err)
	}
	if got := stored(t, p); got != "1/1/1/1" {
		t.Errorf("stored %s rows, want 1/1/1/1", got)
	}
}

func TestDeliverWithoutDatabaseFails(t *testing.T) {
	t.Parallel()
	db, proxy := testkit.NewDatabaseBehind(t)
	p := testkit.NewPlatformOn(t, db)
	proxy.Down()
	d := delivery(p, p.Required)
	_, isNew, err := p.Leads.Deliver(t.Context(), d)
	if err == nil || isNew || apperr.As(err) != nil {
		t.Fatalf("without a database: got stored %v and error %v", isNew, err)
	}
	proxy.Up()
	if receipt, isNew, err := p.Leads.Deliver(t.Context(), d); err != nil || !isNew || receipt.LeadID != d.Lead.ID {
		t.Fatalf("the same post again: got receipt %+v, stored %v and error %v", receipt, isNew, err)
	}
}

func TestFindChecksScope(t *testing.T) {
	t.Parallel()
	p := platform(t)
	d := delivery(p, p.Required)
	if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		scope       scope.Scope
		transaction uuid.UUID
		found       bool
	}{
		"system":              {scope.System, d.Lead.ID, true},
		"the lead's partner":  {scope.Partners(p.Required.ID), d.Lead.ID, true},
		"another partner":     {scope.Partners(p.Off.ID), d.Lead.ID, false},
		"empty scope":         {scope.Scope{}, d.Lead.ID, false},
		"unknown transaction": {scope.System, uuid.New(), false},
	} {
		_, err := p.Leads.Find(t.Context(), c.scope, c.transaction)
		if f := apperr.As(err); (err == nil) != c.found || (err != nil && (f == nil || f.Code != apperr.NotFound)) {
			t.Errorf("%s: got error %v, want found %v", name, err, c.found)
		}
	}
}

// inParallel runs fn for 0 … n-1 on 64 goroutines and fails on the first error.
func inParallel(t *testing.T, n int, fn func(int) error) {
	t.Helper()
	next := make(chan int)
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	for range 64 {
		wg.Go(func() {
			for i := range next {
				if err := fn(i); err != nil {
					once.Do(func() { failed = fmt.Errorf("%d: %w", i, err) })
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
}
