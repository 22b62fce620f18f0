package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// fillPlan states how many rows a database contains in the end. Leads are spread evenly over the months before
// the time until, and pings over the 30 days before it.
type fillPlan struct {
	partners, leads, pings, months int
	until                          time.Time
}

// filler fills a database with synthetic partners, leads and pings. Their values have the same form and length
// as those that the service writes, but contact records are random bytes.
type filler struct {
	db       *postgres.DB
	keys     *keyring.Keys
	wrappers *envelope.Wrappers
	progress io.Writer
}

// fillPartnersSQL adds approved partners with an account. $1 is the number of partners that exist and $2 the
// number to add, as in the statements below.
const fillPartnersSQL = `WITH partner AS (
		INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at)
		SELECT gen_random_uuid(), slug, slug, 'approved', 'required', false, now(), now()
		FROM generate_series($1::int, $1::int + $2::int - 1) AS i, concat('bench-', lpad(i::text, 6, '0')) AS slug
		RETURNING id, slug)
	INSERT INTO accounts
		(id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
	SELECT gen_random_uuid(), id, slug, slug, true, false, 'active', 'inherit', now(), now() FROM partner`

// fillLeadsSQL adds leads, the first $3 + $1 times $4 after the start. Every second lead belongs to the first
// partner.
const fillLeadsSQL = `WITH seller AS MATERIALIZED (
		SELECT array_agg(p.id ORDER BY slug) AS partners, array_agg(a.id ORDER BY slug) AS accounts, count(*) AS of
		FROM partners p JOIN accounts a ON a.partner_id = p.id WHERE slug LIKE 'bench-%'
	), lead AS MATERIALIZED (
		SELECT at, partners[n] AS partner, accounts[n] AS account, 500 + i % 9500 AS price,
			sha256(i::text::bytea) AS digest,
			(substr(first_id(at)::text, 1, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid AS id
		FROM seller CROSS JOIN generate_series($1::int, $1::int + $2::int - 1) AS i
		CROSS JOIN LATERAL (
			SELECT $3::timestamptz + i * $4::interval AS at, 1 + i % 2 * (i::bigint * 7919 % of) AS n
		) AS row
	), contact AS (
		INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, secret_id, hmac_verified, sandbox,
			price_minor, currency, industry, term_id, urgency, card_version, quoted_partner, quoted_country, quoted_postcode,
			quoted_at, received_at, country, postcode, phone_flagged, partner_reference, sub_id, email_digest, phone_digest,
			ciphertext, iv, auth_tag)
		SELECT id, gen_random_uuid(), 'tx_' || repeat(md5(id::text), 4), partner, account, account, true, false,
			price, 'GBP', 'plumber', 1, 'planned', 1, partner, 'GB', 'SW1A 1AA',
			at, at, 'GB', 'SW1A 1AA', false, gen_random_uuid()::text, 'campaign-' || price % 20,
			$8::bytea || digest, $8::bytea || sha256(digest),
			decode(repeat(md5(id::text), 9), 'hex'), substr(digest, 1, 12), substr(digest, 1, 16)
		FROM lead
	), key AS (
		INSERT INTO lead_keys (lead_id, salt, wrapped_key, key_wrapper, key_version, body_digest)
		SELECT id, substr(digest, 1, 16), $5::bytea, $6::text, $7::text,
			CASE WHEN at > now() - interval '1 day' THEN $8::bytea || digest END FROM lead
	), consent AS (
		INSERT INTO consents (lead_id, partner_id, acknowledged, disclosure_digest, sandbox, received_at)
		SELECT id, partner, true, sha256('I agree to be called about my request.'), false, at FROM lead
	), event AS (
		INSERT INTO lead_events (lead_id, kind, detail, at) SELECT id, 'delivered', '{}', at FROM lead
	)
	INSERT INTO ledger_entries
		(partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
	SELECT partner, account, id, 'accrual', 'ld_' || upper(substr(replace(id::text, '-', ''), 7)), price, 'GBP', at
	FROM lead`

// fillPingsSQL adds pings. Consecutive pings differ in industry, country, urgency and partner. A third of them
// have no partner, because their index is not in the array ids.
const fillPingsSQL = `WITH seller AS MATERIALIZED (
		SELECT array_agg(id) AS ids, 1 + count(*) * 3 / 2 AS of FROM partners WHERE slug LIKE 'bench-%'
	)
	INSERT INTO pings (transaction, issued_at, partner_id, sandbox, term_id, country, postcode, urgency, job_type, budget,
		outcome, price_minor, currency, card_version, duration_us)
	SELECT gen_random_uuid(), $3::timestamptz + i * $4::interval, ids[1 + i % of], false,
		($5::int[])[1 + i % cardinality($5::int[])],
		('{GB,FR,BE,DE,AT,ES,IT,NL,IE,US,CA,AU,CH,JP}'::text[])[1 + i / 5 % 14], 'SW1A 1AA',
		(ARRAY['', 'emergency', 'urgent', 'flexible', 'when it suits'])[1 + i / 7 % 5], '', '', 'priced',
		500 + i % 9500, ('{GBP,EUR,EUR,EUR,EUR,EUR,EUR,EUR,EUR,USD,CAD,AUD,GBP,GBP}'::text[])[1 + i / 5 % 14], 1, 40
	FROM seller, generate_series($1::int, $1::int + $2::int - 1) AS i`

// fill adds rows until the database contains as many as the plan requires. If it is interrupted, it can be
// called again to continue.
func (f *filler) fill(ctx context.Context, p fillPlan) error {
	if p.leads > 0 && p.partners == 0 {
		return errors.New("leads need partners: set -partners")
	}
	err := f.add(ctx, "partners", "partners WHERE slug LIKE 'bench-%'", p.partners, 10_000, fillPartnersSQL)
	if err != nil {
		return err
	}
	if err := f.fillLeads(ctx, p); err != nil {
		return err
	}
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		return err
	}
	var terms []int
	for _, industry := range taxonomy.Industries() {
		terms = append(terms, industry.TermID)
	}
	first := p.until.AddDate(0, 0, -30)
	if _, err := f.db.Pool.Exec(ctx, `SELECT create_partitions('{pings}', 'day', $1, $2)`, first, p.until); err != nil {
		return postgres.Translate(err)
	}
	step := p.until.Sub(first) / time.Duration(max(p.pings, 1))
	return f.add(ctx, "pings", "pings", p.pings, 250_000, fillPingsSQL, first, step, terms)
}

// add adds the missing rows in batches. The SQL statement gets the number of rows that exist and the size of the
// batch, followed by args.
func (f *filler) add(ctx context.Context, what, from string, want, batch int, sql string, args ...any) error {
	var there int
	if err := f.db.Pool.QueryRow(ctx, "SELECT count(*) FROM "+from).Scan(&there); err != nil {
		return postgres.Translate(err)
	}
	for there < want {
		n := min(batch, want-there)
		if _, err := f.db.Pool.Exec(ctx, sql, append([]any{there, n}, args...)...); err != nil {
			return fmt.Errorf("adding %s: %w", what, postgres.Translate(err))
		}
		there += n
		fmt.Fprintf(f.progress, "%d of %d %s\n", there, want, what)
	}
	return nil
}

// fillLeads adds the leads. They have the same wrapped data key, whose plaintext is discarded, because the contact
// records are random bytes.
func (f *filler) fillLeads(ctx context.Context, p fillPlan) error {
	if p.leads == 0 {
		return nil
	}
	for month := range p.months + 1 {
		_, err := f.db.Pool.Exec(ctx, `SELECT create_partitions(
			'{leads, lead_keys, consents, lead_events, ledger_entries, payout_run_entries}', 'month', $1, $1)`,
			p.until.AddDate(0, 0, -p.until.Day()+1).AddDate(0, -month, 0))
		if err != nil {
			return postgres.Translate(err)
		}
	}
	for _, sql := range []string{
		`INSERT INTO disclosures (digest, text, partner_id, first_used_at) SELECT sha256(text::bytea), text, id, now()
			FROM (VALUES ('I agree to be called about my request.')) AS t (text), partners WHERE slug = 'bench-000000'
			ON CONFLICT DO NOTHING`,
		`UPDATE disclosures SET standard = true WHERE digest = sha256('I agree to be called about my request.')`,
	} {
		if _, err := f.db.Pool.Exec(ctx, sql); err != nil {
			return postgres.Translate(err)
		}
	}
	key, err := f.wrappers.DataKey(ctx)
	if err != nil {
		return err
	}
	key.Zero()
	wrapper, version, err := envelope.ParseWrapped(key.Wrapped)
	if err != nil {
		return err
	}
	first := p.until.AddDate(0, -p.months, 0)
	prefix := f.keys.IDs()[0] // of all lookup digests
	return f.add(ctx, "leads", "leads", p.leads, 10_000, fillLeadsSQL, first, p.until.Sub(first)/time.Duration(p.leads),
		key.Wrapped, wrapper, version, prefix[:])
}

// fillCommand fills the database of a test installation. It reads the same settings as pingpost serve.
func fillCommand(ctx context.Context, args, environ []string, progress io.Writer) error {
	p := fillPlan{until: now()}
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.IntVar(&p.partners, "partners", 10_000, "total number of synthetic partners")
	flags.IntVar(&p.leads, "leads", 10_000_000, "total number of leads, about 2 KB each")
	flags.IntVar(&p.months, "months", 1, "number of months over which the leads are spread")
	flags.IntVar(&p.pings, "pings", 100_000_000, "total number of recorded pings, about 150 bytes each")
	database := flags.String("database", "", "confirm the `NAME` of the database to fill")
	file := flags.String("config", "", "YAML `FILE` with settings")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if p.partners < 0 || p.leads < 0 || p.pings < 0 || p.months < 1 {
		return errors.New("totals must be zero or more, and months at least 1")
	}
	cfg, err := config.Load(config.Source{
		File: *file, Environ: environ, Defaults: config.Serve,
		Need: []config.Section{config.SectionDatabase, config.SectionKeys, config.SectionVault},
	})
	if err != nil {
		return err
	}
	keys, err := keyring.NewKeys(cfg.Keys.PlatformKeys())
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, postgres.Options{
		URL: cfg.Database.URL.Reveal(), MaxConnections: 2, ConnectTimeout: cfg.Database.ConnectTimeout,
	})
	if err != nil {
		return err
	}
	defer db.Close()
	var name string
	if err := db.Pool.QueryRow(ctx, `SELECT current_database()`).Scan(&name); err != nil {
		return err
	}
	if *database != name {
		return fmt.Errorf("this adds permanent rows to the database %q: confirm with -database %s", name, name)
	}
	wrappers, err := app.OpenKeysUnpooled(cfg, transit.NewAttempts(db, keys), clock.System{})
	if err != nil {
		return err
	}
	f := filler{db: db, keys: keys, wrappers: wrappers.Wrappers, progress: progress}
	return f.fill(ctx, p)
}
