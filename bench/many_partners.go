package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/bench/benchdata"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	// candidates is the maximum number of partners whose secrets the service tries for one post. It
	// tries them if a post to the shared base URL does not identify a partner. Decision 13 sets this
	// maximum.
	candidates = 100
)

// manyPartners contains a directory of many partners, and an intake. The intake handles requests and
// looks up partners in the directory.
type manyPartners struct {
	intake    *intake.Intake
	directory *snapshot.Holder[partners.Directory]
	quotes    *quote.Sealer
	names     []string // the accounts' identifiers
}

// newManyPartners creates the partners in a separate database and loads the directory, as a node does
// when it starts.
func (b *bench) newManyPartners(ctx context.Context) (_ *manyPartners, err error) {
	d, err := b.stage.newDatabase(ctx, "many_partners")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	db, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	keys, err := keyring.NewKeys([][]byte{newKey()})
	if err != nil {
		return nil, err
	}
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		return nil, err
	}
	f := benchdata.Filler{
		DB:         db,
		Keys:       keys,
		Wrappers:   envelope.NewWrappers(nil),
		Taxonomy:   taxonomy,
		Now:        clock.System{}.Now(),
		OnProgress: func(string, int, int) {},
	}
	if err := f.Fill(ctx, benchdata.Plan{Partners: b.plan.ManyPartners}); err != nil {
		return nil, err
	}
	if _, err := d.root.Exec(ctx, `UPDATE partners SET shared_base_url = id IN (SELECT id FROM partners ORDER BY id DESC LIMIT $1)`, candidates); err != nil {
		return nil, err
	}
	c := &manyPartners{directory: snapshot.New("partners", partners.NewService(db, keys, clock.System{}).LoadDirectory)}
	card := snapshot.New("rate_card", func(context.Context) (*ratecard.CompiledVersion, error) {
		return &ratecard.CompiledVersion{Taxonomy: taxonomy}, nil
	})
	if err := snapshot.NewWatcher(db.Pool, slog.New(slog.DiscardHandler), c.directory, card).Load(ctx); err != nil {
		return nil, err
	}
	if shared := len(c.directory.Get().Shared()); shared != candidates {
		return nil, fmt.Errorf("%d partners can be recognised by their secret, want %d", shared, candidates)
	}
	rows, err := d.root.Query(ctx, `SELECT identifier FROM accounts ORDER BY random()`)
	if err != nil {
		return nil, err
	}
	if c.names, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return nil, err
	}
	if c.quotes, err = quote.NewSealer(keys.QuoteKeys()); err != nil {
		return nil, err
	}
	c.intake = intake.New(intake.Deps{
		Directory: c.directory, Card: card, Quotes: c.quotes, Keys: keys, Clock: clock.System{},
		Traffic: intake.NewTraffic(db.Pool, slog.New(slog.DiscardHandler), 1),
	}, intake.Settings{DefaultMode: models.SigningRequired})
	return c, nil
}

// search measures a post that names no partner and is signed with an unknown secret, so that the service
// tries every candidate's secret.
func (c *manyPartners) search(b *testing.B) {
	now := clock.System{}.Now()
	q := quoted()
	q.Partner = uuid.Nil // the quote does not name a partner either
	token, _, err := c.quotes.Append(nil, q, now, [quote.RandomSize]byte{1, 2, 3})
	if err != nil {
		b.Fatal(err)
	}
	head := fmt.Appendf(nil, `{"transactionId":%q,"notes":"`, token)
	body := append(append(head, bytes.Repeat([]byte("n"), postSize-len(head)-2)...), `"}`...)
	stamp := strconv.FormatInt(now.Unix(), 10)
	request := intake.PostRequest{Body: body, Headers: signing.Headers{
		Timestamp: []string{stamp}, Signature: []string{signing.Sign([]byte("an unknown secret"), stamp, body)},
	}}
	defer timed(b)()
	for b.Loop() {
		if _, err := c.intake.Post(b.Context(), request); !errors.Is(err, signing.ErrSignature) {
			b.Fatal(err)
		}
	}
}

// named measures how long it takes to find one of many accounts by its partnerId, and then the
// account's signing mode.
func (c *manyPartners) named(b *testing.B) {
	b.ReportAllocs()
	defer timed(b)()
	for i := 0; b.Loop(); i++ {
		account := c.directory.Get().Account(c.names[i%len(c.names)])
		if account == nil || !account.Active() || account.Mode(models.SigningRequired) == "" {
			b.Fatal("an account is not found")
		}
	}
}
