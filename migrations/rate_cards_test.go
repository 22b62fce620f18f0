package migrations_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/testkit"
)

const (
	rulesImmutable = "pricing_rules_immutable"
	cardsImmutable = "rate_cards_immutable"
	addRule        = `INSERT INTO pricing_rules (rate_card_id, position, multiplier) VALUES ($1, $2, 15000)`
)

func TestPublishedRateCardsDoNotChange(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	for name, url := range map[string]string{"service": d.AppURL, "owner": d.OwnerURL} {
		t.Run(name, func(t *testing.T) {
			conn := testkit.Connect(t, url)
			d.Exec(t, `ALTER TABLE pricing_rules DISABLE TRIGGER ALL; DELETE FROM pricing_rules; DELETE FROM rate_cards;
				ALTER TABLE pricing_rules ENABLE TRIGGER ALL`)
			card, draft := putCard(t, conn, 1), putCard(t, conn, 2)
			exec(t, conn, addRule, draft, 2)
			exec(t, conn, `UPDATE pricing_rules SET multiplier = 12000 WHERE rate_card_id = $1 AND position = 2`, draft)
			exec(t, conn, `DELETE FROM pricing_rules WHERE rate_card_id = $1 AND position = 2`, draft)
			exec(t, conn, `UPDATE rate_cards SET note = 'a note', author = 'someone else' WHERE id = $1`, card)
			exec(t, conn, publish, card)

			for _, state := range []string{"published", "superseded"} {
				exec(t, conn, `UPDATE rate_cards SET state = $2 WHERE id = $1`, card, state)
				refuses(t, conn, integrityViolation, rulesImmutable, addRule, card, 2)
				refuses(t, conn, integrityViolation, rulesImmutable, `UPDATE pricing_rules SET note = 'x' WHERE rate_card_id = $1`, card)
				refuses(t, conn, integrityViolation, rulesImmutable, `DELETE FROM pricing_rules WHERE rate_card_id = $1`, card)
				refuses(t, conn, integrityViolation, rulesImmutable, `UPDATE pricing_rules SET rate_card_id = $2, position = 9 WHERE rate_card_id = $1`, card, draft)
				refuses(t, conn, integrityViolation, rulesImmutable, `UPDATE pricing_rules SET rate_card_id = $2, position = 9 WHERE rate_card_id = $1`, draft, card)
				refuses(t, conn, integrityViolation, cardsImmutable, `UPDATE rate_cards SET state = 'draft' WHERE id = $1`, card)
				for _, change := range []string{"version = 7", "author = 'x'", "approver = 'x'", "note = 'x'", "created_at = now() - interval '1 day'", "effective_at = now() + interval '1 day'", "effective_at = NULL"} {
					refuses(t, conn, integrityViolation, cardsImmutable, `UPDATE rate_cards SET `+change+` WHERE id = $1`, card)
				}
			}
			if n := value[int](t, conn, `SELECT count(*) FROM pricing_rules WHERE rate_card_id = $1 AND base = '{"GBP": 4560}'`, card); n != 1 {
				t.Errorf("the published rule is there %d times", n)
			}
		})
	}
}

// waits reports whether a statement waits for another's lock; it ends with the
// test. done has its error.
func waits(t *testing.T, d *testkit.Database, conn *pgx.Conn, sql string, args ...any) (done <-chan error, blocked bool) {
	t.Helper()
	ended := make(chan error, 1)
	pid := conn.PgConn().PID()
	go func() {
		_, err := conn.Exec(t.Context(), sql, args...)
		ended <- err
	}()
	finished := false
	testkit.Eventually(t, 10*time.Second, "the statement waits or ends", func() bool {
		blocked = testkit.Value[bool](t, d, `SELECT coalesce(bool_or(wait_event_type = 'Lock'), false) FROM pg_stat_activity WHERE pid = $1`, pid)
		finished = len(ended) > 0
		return blocked || finished
	})
	return ended, blocked
}

// A rule that is being written while its card is published would otherwise be
// committed into a card that nodes have loaded without it.
func TestPublishingWaitsForRulesUnderWay(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	editor, publisher := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.AppURL)
	card := putCard(t, editor, 1)
	exec(t, editor, `BEGIN`)
	exec(t, editor, addRule, card, 2)
	done, blocked := waits(t, d, publisher, publish, card)
	if !blocked {
		t.Error("the card was published while a rule of it was under way")
	}
	exec(t, editor, `COMMIT`)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRulesWaitForPublishingUnderWay(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	editor, publisher := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.AppURL)
	card := putCard(t, editor, 1)
	exec(t, publisher, `BEGIN`)
	exec(t, publisher, publish, card)
	done, blocked := waits(t, d, editor, addRule, card, 2)
	if !blocked {
		t.Error("a rule was written while its card was being published")
	}
	exec(t, publisher, `COMMIT`)
	if err := <-done; err == nil {
		t.Error("a published card got another rule")
	}
	if n := value[int](t, publisher, `SELECT count(*) FROM pricing_rules WHERE rate_card_id = $1`, card); n != 1 {
		t.Errorf("the card has %d rules, want 1", n)
	}
}

// Every change that a node must learn of raises its number and notifies, also
// when the service's role makes it.
func TestChangesAreNoticed(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app, listener := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.AppURL)
	exec(t, listener, `LISTEN pingpost_snapshot`)
	partner, account, secret, card := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	for _, c := range []struct {
		snapshot, sql string
		args          []any
	}{
		{"directory", insertPartner, []any{partner, "a-partner"}},
		{"directory", `UPDATE partners SET status = 'suspended' WHERE id = $1`, []any{partner}},
		{"directory", insertAccount, []any{account, partner, "an-account"}},
		{"directory", `UPDATE accounts SET is_default = false WHERE id = $1`, []any{account}},
		{"directory", insertSecret, []any{secret, partner}},
		{"directory", `UPDATE signing_secrets SET retires_at = now() WHERE id = $1`, []any{secret}},
		{"directory", `INSERT INTO partner_prices (partner_id, updated_at) VALUES ($1, now())`, []any{partner}},
		{"directory", `UPDATE partner_prices SET adjustment = 500 WHERE partner_id = $1`, []any{partner}},
		{"directory", `DELETE FROM partner_prices WHERE partner_id = $1`, []any{partner}},
		{"rate_card", `INSERT INTO rate_cards (id, version, state, author, created_at) VALUES ($1, 1, 'draft', 'someone', now())`, []any{card}},
		{"rate_card", publish, []any{card}},
	} {
		number := `SELECT version FROM snapshot_versions WHERE name = $1`
		before := value[int64](t, app, number, c.snapshot)
		exec(t, app, c.sql, c.args...)
		if after := value[int64](t, app, number, c.snapshot); after != before+1 {
			t.Errorf("%s: the number of %s went from %d to %d", c.sql, c.snapshot, before, after)
		}
		n, err := listener.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Payload != c.snapshot {
			t.Errorf("%s: notified of %q, want %q", c.sql, n.Payload, c.snapshot)
		}
	}
}
