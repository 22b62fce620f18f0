// Package benchdata fills a database with synthetic partners, leads and pings, so that benchmarks can
// measure the service on a database that has grown for years. Ids, times, digests, ledger entries and
// key versions have the same form as those that the service writes. Contact records are random bytes.
package benchdata

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	// prefix is the start of the slug and of the account identifier of every synthetic partner.
	prefix = "bench-"

	partnerBatch = 500
	leadBatch    = 10_000
	pingBatch    = 250_000
	// span is the length of the period before Filler.Now over which pings are spread evenly. It must be
	// less than 62 days, because create_partitions creates partitions for at most 62 days.
	span = 30 * 24 * time.Hour
)

// Plan states how many partners, leads and pings the database will contain in total. Leads are spread
// evenly over the given number of months, or over one month if Months is 0.
type Plan struct{ Partners, Leads, Pings, Months int }

// Filler fills a database with synthetic partners, leads and pings.
type Filler struct {
	DB       *postgres.DB
	Keys     *keyring.Keys
	Wrappers *envelope.Wrappers
	Taxonomy *pricingrules.Taxonomy
	Now      time.Time
	// OnProgress receives the kind of row, how many rows there are, and how many the plan requires.
	OnProgress func(what string, there, of int)
}

// Fill adds rows until the database contains as many as the plan requires. If it is interrupted, call
// it again to continue.
func (f *Filler) Fill(ctx context.Context, p Plan) error {
	if err := f.partners(ctx, p.Partners); err != nil {
		return fmt.Errorf("partners: %w", err)
	}
	if err := f.leads(ctx, p.Leads, max(1, p.Months)); err != nil {
		return fmt.Errorf("leads: %w", err)
	}
	if err := f.pings(ctx, p.Pings); err != nil {
		return fmt.Errorf("pings: %w", err)
	}
	return nil
}

func (f *Filler) partners(ctx context.Context, want int) error {
	var there int
	if err := f.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM partners WHERE slug LIKE $1`, prefix+"%").Scan(&there); err != nil {
		return postgres.Translate(err)
	}
	for there < want {
		n := min(partnerBatch, want-there)
		if err := f.addPartners(ctx, there, n); err != nil {
			return err
		}
		there += n
		f.OnProgress("partners", there, want)
	}
	return nil
}

// addPartners adds approved partners, each with an account and a secret. The secrets are discarded,
// so no one can post for these partners.
func (f *Filler) addPartners(ctx context.Context, from, n int) error {
	rows := make([]models.Partner, n)
	accounts := make([]models.Account, n)
	secrets := make([]models.SigningSecret, n)
	for i := range n {
		name := fmt.Sprintf("%s%06d", prefix, from+i)
		rows[i] = models.Partner{
			ID:          id.New(f.Now),
			Slug:        name,
			Name:        name,
			Status:      models.PartnerApproved,
			SigningMode: models.SigningRequired,
			CreatedAt:   f.Now,
			UpdatedAt:   f.Now,
		}
		accounts[i] = models.Account{
			ID: id.New(f.Now), PartnerID: rows[i].ID, Identifier: name, Name: name, IsDefault: true,
			Status: models.AccountActive, SigningMode: models.SigningInherit, CreatedAt: f.Now, UpdatedAt: f.Now,
		}
		secret, plain := id.New(f.Now), []byte(partners.GenerateSecret())
		secrets[i] = models.SigningSecret{
			ID:        secret,
			PartnerID: rows[i].ID,
			Label:     name,
			Prefix:    "pp_",
			LastFour:  string(plain[len(plain)-4:]),
			Sealed:    f.Keys.Seal(keyring.SigningSecret, secret[:], plain),
			Digest:    f.Keys.Digest(keyring.Uniqueness, plain),
			State:     models.SecretActive,
			NotBefore: f.Now,
			CreatedAt: f.Now,
		}
	}
	return f.DB.Transaction(ctx, func(tx *gorm.DB) error {
		for _, all := range []any{rows, accounts, secrets} {
			if err := tx.CreateInBatches(all, partnerBatch).Error; err != nil {
				return err
			}
		}
		return nil
	})
}

type seller struct{ partner, account, secret uuid.UUID }

func (f *Filler) sellers(ctx context.Context) (all []seller, err error) {
	rows, err := f.DB.Pool.Query(ctx, `SELECT p.id, a.id, s.id FROM partners p JOIN accounts a ON a.partner_id = p.id
		JOIN signing_secrets s ON s.partner_id = p.id WHERE p.slug LIKE $1 ORDER BY p.slug`, prefix+"%")
	if err != nil {
		return nil, postgres.Translate(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s seller
		if err := rows.Scan(&s.partner, &s.account, &s.secret); err != nil {
			return nil, postgres.Translate(err)
		}
		all = append(all, s)
	}
	return all, postgres.Translate(rows.Err())
}

func (f *Filler) leads(ctx context.Context, want, months int) error {
	var there int
	if err := f.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM leads`).Scan(&there); err != nil || there >= want {
		return postgres.Translate(err)
	}
	all, err := f.sellers(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("leads need partners: set -partners")
	}
	key, err := f.Wrappers.DataKey(ctx)
	if err != nil {
		return err
	}
	key.Zero() // leads store the wrapped key and its version, but not the key itself
	wrapper, version, err := envelope.ParseWrapped(key.Wrapped)
	if err != nil {
		return err
	}
	first := f.Now.AddDate(0, -months, 0)
	for at := first; !at.After(f.Now); at = at.AddDate(0, 0, 28) {
		if _, err := f.DB.Pool.Exec(ctx, createMonths, at, at.AddDate(0, 0, 28)); err != nil {
			return postgres.Translate(err)
		}
	}
	var disclosure []byte
	if _, err := f.DB.Pool.Exec(ctx, disclosureSQL, all[0].partner, first); err != nil {
		return postgres.Translate(err)
	}
	if err := f.DB.Pool.QueryRow(ctx, standardSQL).Scan(&disclosure); err != nil {
		return postgres.Translate(err)
	}
	period := f.Now.Sub(first)
	for missing := want - there; there < want; {
		n := min(leadBatch, want-there)
		b := newLeadBatch(n)
		for range n {
			at := first.Add(time.Duration(float64(period) * float64(there-(want-missing)) / float64(missing)))
			b.add(all[rand.IntN(len(all))], f.Taxonomy.At(rand.IntN(f.Taxonomy.Len())), at)
			there++
		}
		if _, err := f.DB.Pool.Exec(ctx, leadsSQL, b.ids, b.partners, b.accounts, b.secrets, b.industries, b.terms, b.prices,
			b.times, b.references, b.noise, key.Wrapped, wrapper, version, f.digestPrefix(), f.Now.Add(-24*time.Hour), disclosure); err != nil {
			return postgres.Translate(err)
		}
		f.OnProgress("leads", there, want)
	}
	return nil
}

// digestPrefix returns the id of the current platform key. Every lookup digest starts with it.
func (f *Filler) digestPrefix() []byte {
	first := f.Keys.IDs()[0]
	return first[:]
}

// leads is a batch of leads, with one slice for each column.
type leads struct {
	ids, partners, accounts, secrets []uuid.UUID
	industries, references           []string
	terms, prices                    []int64
	times                            []time.Time
	noise                            [][]byte
}

func newLeadBatch(n int) *leads {
	return &leads{
		ids:        make([]uuid.UUID, 0, n),
		partners:   make([]uuid.UUID, 0, n),
		accounts:   make([]uuid.UUID, 0, n),
		secrets:    make([]uuid.UUID, 0, n),
		industries: make([]string, 0, n),
		references: make([]string, 0, n),
		terms:      make([]int64, 0, n),
		prices:     make([]int64, 0, n),
		times:      make([]time.Time, 0, n),
		noise:      make([][]byte, 0, n),
	}
}

func (b *leads) add(s seller, industry pricingrules.Industry, at time.Time) {
	lead := id.New(at.Add(-time.Minute)) // the ping was a minute earlier
	price := 500 + rand.Int64N(9500)
	b.ids, b.partners, b.accounts, b.secrets = append(b.ids, lead), append(b.partners, s.partner), append(b.accounts, s.account), append(b.secrets, s.secret)
	b.industries, b.terms = append(b.industries, industry.Slug), append(b.terms, int64(industry.TermID))
	b.prices, b.times = append(b.prices, price), append(b.times, at)
	b.references = append(b.references, ledger.Accrual(&models.Lead{ID: lead}).Reference)
	b.noise = append(b.noise, noise(192))
}

func noise(n int) []byte {
	out := make([]byte, 0, n)
	for len(out) < n {
		out = binary.LittleEndian.AppendUint64(out, rand.Uint64())
	}
	return out
}

// createMonths creates the partitions for all months that overlap a period.
const createMonths = `SELECT create_partitions('{leads, lead_keys, consents, lead_events, ledger_entries, payout_run_entries}', 'month', $1, $2)`

const disclosureText = `'I agree to be called about my request.'`

// disclosureSQL stores the disclosure text of all leads.
const disclosureSQL = `INSERT INTO disclosures (digest, text, partner_id, first_used_at) VALUES (sha256(` + disclosureText + `), ` + disclosureText + `, $1, $2) ON CONFLICT DO NOTHING`

// standardSQL marks this text as standard, and returns its digest.
const standardSQL = `UPDATE disclosures SET standard = true WHERE digest = sha256(` + disclosureText + `) RETURNING digest`

const leadsSQL = `WITH lead AS (
	INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, secret_id, hmac_verified, sandbox, price_minor, currency, industry, term_id,
		urgency, card_version, quoted_partner, quoted_country, quoted_postcode, quoted_at, received_at, country, postcode, phone_flagged, partner_reference, sub_id,
		email_digest, phone_digest, ciphertext, iv, auth_tag)
	SELECT id, gen_random_uuid(), 'tx_' || encode(substr(noise, 1, 72), 'hex'), partner, account, secret, true, false, price, 'GBP', industry, term,
		'planned', 1, partner, 'GB', 'SW1A 1AA', at - interval '1 minute', at, 'GB', 'SW1A 1AA', false, gen_random_uuid()::text, 'campaign-' || get_byte(noise, 0) % 20,
		$14 || substr(noise, 1, 32), $14 || substr(noise, 33, 32),
		substr(noise, 1, 144), substr(noise, 145, 12), substr(noise, 157, 16)
	FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::bigint[], $7::bigint[], $8::timestamptz[], $10::bytea[])
		AS l (id, partner, account, secret, industry, term, price, at, noise)
), key AS (
	INSERT INTO lead_keys (lead_id, salt, wrapped_key, key_wrapper, key_version, body_digest)
	SELECT id, substr(noise, 173, 16), $11, $12, $13, CASE WHEN at > $15 THEN $14 || substr(noise, 65, 32) END
	FROM unnest($1::uuid[], $8::timestamptz[], $10::bytea[]) AS l (id, at, noise)
), consent AS (
	INSERT INTO consents (lead_id, partner_id, acknowledged, disclosure_digest, sandbox, received_at)
	SELECT id, partner, true, $16, false, at
	FROM unnest($1::uuid[], $2::uuid[], $8::timestamptz[]) AS l (id, partner, at)
), event AS (
	INSERT INTO lead_events (lead_id, kind, detail, at)
	SELECT id, 'delivered', '{}', at FROM unnest($1::uuid[], $8::timestamptz[]) AS l (id, at)
)
INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
SELECT partner, account, id, 'accrual', reference, price, 'GBP', at
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $7::bigint[], $8::timestamptz[], $9::text[]) AS l (id, partner, account, price, at, reference)`

func (f *Filler) pings(ctx context.Context, want int) error {
	var there int
	if err := f.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM pings`).Scan(&there); err != nil || there >= want {
		return postgres.Translate(err)
	}
	first := f.Now.Add(-span)
	if _, err := f.DB.Pool.Exec(ctx, `SELECT create_partitions('{pings}', 'day', $1, $2)`, first, first.Add(span+24*time.Hour)); err != nil {
		return postgres.Translate(err)
	}
	// Insert the pings in chronological order, as the service does.
	for start, missing := there, want-there; there < want; {
		n := min(pingBatch, want-there)
		from := first.Add(time.Duration(float64(span) * float64(there-start) / float64(missing)))
		step := time.Duration(float64(span) / float64(missing))
		if _, err := f.DB.Pool.Exec(ctx, pingsSQL, n, from, step.Seconds(), f.Taxonomy.At(0).TermID); err != nil {
			return postgres.Translate(err)
		}
		there += n
		f.OnProgress("pings", there, want)
	}
	return nil
}

const pingsSQL = `INSERT INTO pings (transaction, issued_at, partner_id, sandbox, term_id, country, postcode, urgency, job_type, budget,
		outcome, price_minor, currency, card_version, duration_us)
	SELECT gen_random_uuid(), $2::timestamptz + make_interval(secs => i * $3::float8), NULL, false, $4::int, 'GB', 'SW1A 1AA', 'planned', '', '',
		'priced', 500 + i % 9500, 'GBP', 1, 40 FROM generate_series(0, $1::int - 1) AS i`
