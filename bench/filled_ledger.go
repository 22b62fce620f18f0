package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/models"
)

// filledLedger is a database with a large ledger and two partners. The account in the field large has
// two thirds of the accruals. The account in the field another has the rest.
type filledLedger struct {
	*database
	keys           *keyring.Keys
	large, another models.Account
	from, to       time.Time // the first and the last day
	list           string    // path of the file for the large account's partner
	rows           int64     // number of leads in the large account
}

const ledgerDays = 30

func (s *stage) newFilledLedger(ctx context.Context, name string, rows int64) (_ *filledLedger, err error) {
	platform := newKey()
	k := &filledLedger{rows: rows, list: filepath.Join(s.folder, name+".csv")}
	if k.keys, err = keyring.NewKeys([][]byte{platform}); err != nil {
		return nil, err
	}
	if k.database, err = s.newDatabase(ctx, name); err != nil {
		return nil, err
	}
	k.to = clock.System{}.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
	k.from = k.to.AddDate(0, 0, 1-ledgerDays)
	if err = k.createPartners(ctx); err == nil {
		err = k.fill(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

func (k *filledLedger) createPartners(ctx context.Context) error {
	db, err := k.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	service := partners.NewService(db, k.keys, clock.System{})
	for slug, account := range map[string]*models.Account{"large": &k.large, "another": &k.another} {
		row, err := service.Create(ctx, partners.NewPartner{Slug: slug, Name: slug, Signing: models.SigningRequired})
		if err != nil {
			return err
		}
		if *account, err = service.CreateAccount(ctx, scope.System, row, partners.NewAccount{Identifier: slug}); err != nil {
			return err
		}
		if err := service.SetStatus(ctx, scope.System, row.ID, models.PartnerApproved); err != nil {
			return err
		}
	}
	return nil
}

// fill writes the ledger, a lead for each accrual, and a partner's file to compare with the ledger. The
// file contains deliberate errors: missing, unknown and duplicate leads, and wrong amounts.
func (k *filledLedger) fill(ctx context.Context) error {
	file, err := os.Create(k.list)
	if err != nil {
		return err
	}
	defer file.Close()
	list := bufio.NewWriter(file)
	fmt.Fprintln(list, "leadId,date,payout,currency")
	written := &ledgerRows{filledLedger: k, list: list}
	// Skip triggers and foreign keys, because the rows are known to be valid.
	if _, err := k.root.Exec(ctx, `SET session_replication_role = replica`); err != nil {
		return err
	}
	for table, columns := range map[string][]string{"leads": leadColumns, "ledger_entries": entryColumns} {
		written.begin(table == "ledger_entries")
		if _, err := k.root.CopyFrom(ctx, pgx.Identifier{table}, columns, written); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		`SET session_replication_role = origin`,
		`INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
			SELECT partner_id, account_id, lead_id, 'return', reference, -amount_minor, currency, occurred_at + interval '1 day' FROM ledger_entries WHERE id % 200 = 0`,
		`VACUUM (ANALYZE)`,
	} {
		if _, err := k.root.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return list.Flush()
}

var (
	leadColumns = []string{"id", "attempt_id", "transaction_id", "partner_id", "account_id", "hmac_verified", "sandbox", "price_minor", "currency",
		"industry", "term_id", "urgency", "card_version", "quoted_country", "quoted_postcode", "quoted_at", "received_at", "country", "postcode",
		"phone_flagged", "ciphertext"}
	entryColumns = []string{
		"partner_id", "account_id", "lead_id", "kind", "reference", "amount_minor", "currency", "occurred_at",
	}
)

// ledgerRows generates rows for the table leads or ledger_entries while the rows are copied to the
// database. Both tables get the same leads, because a lead's ID is calculated from its number.
type ledgerRows struct {
	*filledLedger
	list    *bufio.Writer
	entries bool
	n       int64
	row     []any
}

func (f *ledgerRows) begin(entries bool) { f.entries, f.n = entries, 0 }

func (f *ledgerRows) Next() bool {
	if f.n++; f.n > f.rows*3/2 {
		return false
	}
	account := f.large
	if f.n%3 == 0 {
		account = f.another
	}
	at := f.from.Add(time.Duration(f.n) * (ledgerDays * 24 * time.Hour) / time.Duration(f.rows*3/2+1))
	lead := id.NewV7(at, spread(f.n))
	price := 500 + f.n%9500
	if f.entries {
		e := ledger.Accrual(&models.Lead{
			ID:         lead,
			PartnerID:  account.PartnerID,
			AccountID:  account.ID,
			PriceMinor: price,
			Currency:   "GBP",
			ReceivedAt: at,
		})
		f.row = []any{
			e.PartnerID, e.AccountID, e.LeadID, string(e.Kind), e.Reference, e.AmountMinor, e.Currency, e.OccurredAt,
		}
		if account == f.large {
			f.writeListRow(f.n, lead, price, at)
		}
		return true
	}
	f.row = []any{lead, lead, "tx", account.PartnerID, account.ID, false, false, price, "GBP", "plumber", 1, "", 1, "GB", "SW1A 1AA", at, at, "GB", "SW1A 1AA",
		false, lead[:]}
	return true
}

func (f *ledgerRows) Values() ([]any, error) { return f.row, nil }
func (f *ledgerRows) Err() error             { return nil }

// spread calculates the random part of an ID from a number.
func spread(n int64) (random [10]byte) {
	n *= 0x9E3779B97F4A7C1 // so that the IDs of consecutive numbers are far apart in an index
	for i := range 8 {
		random[i+2] = byte(n >> (8 * i))
	}
	return random
}

// writeListRow adds a lead to the partner's file. It omits, changes or repeats some leads, so that the
// comparison finds differences.
func (f *ledgerRows) writeListRow(n int64, lead uuid.UUID, price int64, at time.Time) {
	row := func(lead uuid.UUID, price int64) {
		fmt.Fprintf(f.list, "%s,%s,%s,GBP\n", id.Format(id.Lead, lead), at.Format(time.DateTime),
			money.Amount{Minor: price, Currency: money.GBP}.Decimal())
	}
	switch m := n % 1000; {
	case m < 5:
	case m < 15:
		row(lead, price+100)
	case m < 20:
		row(id.New(at), price)
	case m < 22:
		row(lead, price)
		row(lead, price)
	default:
		row(lead, price)
	}
}
