package migrations_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/testkit"
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
			card, draft := putCard(t, conn), putCard(t, conn)
			exec(t, conn, addRule, draft, 2)
			exec(t, conn, `UPDATE pricing_rules SET multiplier = 12000 WHERE rate_card_id = $1 AND position = 2`, draft)
			exec(t, conn, `DELETE FROM pricing_rules WHERE rate_card_id = $1 AND position = 2`, draft)
			exec(t, conn, `UPDATE rate_cards SET note = 'a note', title = 'a title', based_on = 7 WHERE id = $1`, card)
			exec(t, conn, publish, card, 1)

			for _, state := range []string{"published", "superseded"} {
				exec(t, conn, `UPDATE rate_cards SET state = $2 WHERE id = $1`, card, state)
				rejects(t, conn, integrityViolation, rulesImmutable, addRule, card, 2)
				rejects(t, conn, integrityViolation, rulesImmutable,
					`UPDATE pricing_rules SET note = 'x' WHERE rate_card_id = $1`, card)
				rejects(t, conn, integrityViolation, rulesImmutable, `DELETE FROM pricing_rules WHERE rate_card_id = $1`, card)
				rejects(t, conn, integrityViolation, rulesImmutable,
					`UPDATE pricing_rules SET rate_card_id = $2, position = 9 WHERE rate_card_id = $1`, card, draft)
				rejects(t, conn, integrityViolation, rulesImmutable,
					`UPDATE pricing_rules SET rate_card_id = $2, position = 9 WHERE rate_card_id = $1`, draft, card)
				for _, other := range []string{"draft", "submitted", "scheduled", "discarded"} {
					rejects(t, conn, integrityViolation, cardsImmutable,
						`UPDATE rate_cards SET state = $2 WHERE id = $1`, card, other)
				}
				for _, change := range []string{"version = 7", "title = 'x'", "based_on = 1", "submitter = 'x'",
					"approver = 'x'", "note = 'x'", "effective_at = now() + interval '1 day'", "effective_at = NULL"} {
					rejects(t, conn, integrityViolation, cardsImmutable, `UPDATE rate_cards SET `+change+` WHERE id = $1`, card)
				}
				rejected := integrityViolation
				if name == "service" {
					rejected = insufficientPrivilege // the service may not change the author and the creation time
				}
				rejects(t, conn, rejected, "", `UPDATE rate_cards SET author = 'x' WHERE id = $1`, card)
				rejects(t, conn, rejected, "", `UPDATE rate_cards SET created_at = now() - interval '1 day' WHERE id = $1`, card)
			}
			if n := value[int](t, conn, `SELECT count(*) FROM pricing_rules WHERE rate_card_id = $1 AND base = '{"GBP": 4560}'`, card); n != 1 {
				t.Errorf("got %d published rules, want 1", n)
			}
		})
	}
}

// waits runs a statement and reports whether it waits for a lock. The channel done receives the
// statement's error, at the latest when the test ends.
func waits(t *testing.T, d *testkit.Database, conn *pgx.Conn, sql string, args ...any) (done <-chan error, blocked bool) {
	t.Helper()
	ended := make(chan error, 1)
	pid := conn.PgConn().PID()
	go func() {
		_, err := conn.Exec(t.Context(), sql, args...)
		ended <- err
	}()
	finished := false
	testkit.Eventually(t, time.Minute, "the statement waits for a lock or ends", func() bool {
		blocked = testkit.Value[bool](t, d,
			`SELECT coalesce(bool_or(wait_event_type = 'Lock'), false) FROM pg_stat_activity WHERE pid = $1`, pid)
		finished = len(ended) > 0
		return blocked || finished
	})
	return ended, blocked
}

// Publishing a card waits for uncommitted rules. Otherwise nodes could load the card without a rule
// that is committed later.
func TestPublishingWaitsForUncommittedRules(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	editor, publisher := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.AppURL)
	card := putCard(t, editor)
	exec(t, editor, `BEGIN`)
	exec(t, editor, addRule, card, 2)
	done, blocked := waits(t, d, publisher, publish, card, 1)
	if !blocked {
		t.Error("the card was published while one of its rules was uncommitted")
	}
	exec(t, editor, `COMMIT`)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRulesWaitForUncommittedPublication(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	editor, publisher := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.AppURL)
	card := putCard(t, editor)
	exec(t, publisher, `BEGIN`)
	exec(t, publisher, publish, card, 1)
	done, blocked := waits(t, d, editor, addRule, card, 2)
	if !blocked {
		t.Error("a rule was written while its card was being published")
	}
	exec(t, publisher, `COMMIT`)
	if err := <-done; err == nil {
		t.Error("a rule was added to a published card")
	}
	if n := value[int](t, publisher, `SELECT count(*) FROM pricing_rules WHERE rate_card_id = $1`, card); n != 1 {
		t.Errorf("got %d rules, want 1", n)
	}
}

// Every change that affects nodes increments the snapshot's version and sends a notification,
// even if the service's role makes it.
func TestChangesNotifyNodes(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app, listener := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.AppURL)
	exec(t, listener, `LISTEN pingpost_snapshot`)
	partner, account, secret, card := uuid.New(), uuid.New(), uuid.New(), putCard(t, app)
	for _, c := range []struct {
		snapshot, sql string
		args          []any
	}{
		{"directory", insertPartner, []any{partner, "a-partner"}},
		{"directory", `UPDATE partners SET status = 'suspended' WHERE id = $1`, []any{partner}},
		{"directory", insertAccount, []any{account, partner, "an-account"}},
		{"directory", `UPDATE accounts SET is_default = false WHERE id = $1`, []any{account}},
		{"directory", insertSecret, []any{secret, partner}},
		{"directory", `UPDATE signing_secrets SET expires_at = now() WHERE id = $1`, []any{secret}},
		{"directory", `INSERT INTO partner_prices (partner_id, updated_at) VALUES ($1, now())`, []any{partner}},
		{"directory", `UPDATE partner_prices SET adjustment = 500 WHERE partner_id = $1`, []any{partner}},
		{"directory", `DELETE FROM partner_prices WHERE partner_id = $1`, []any{partner}},
		{"rate_card", publish, []any{card, 1}},
		{"rate_card", `UPDATE rate_cards SET state = 'superseded' WHERE id = $1`, []any{card}},
		{"rate_card", `INSERT INTO rate_cards (id, version, state, author, created_at, updated_at, effective_at) VALUES (gen_random_uuid(), 2, 'published', 'someone', now(), now(), now())`, nil},
	} {
		number := `SELECT version FROM snapshot_versions WHERE name = $1`
		before := value[int64](t, app, number, c.snapshot)
		exec(t, app, c.sql, c.args...)
		if after := value[int64](t, app, number, c.snapshot); after != before+1 {
			t.Errorf("%s: version of %s went from %d to %d", c.sql, c.snapshot, before, after)
		}
		n, err := listener.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Payload != c.snapshot {
			t.Errorf("%s: got notification %q, want %q", c.sql, n.Payload, c.snapshot)
		}
	}
}

// Nodes reload the prices when the current version changes, but not after every edit of a draft.
func TestChangesToDraftsDoNotNotifyNodes(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	inForce := putCard(t, app)
	exec(t, app, publish, inForce, 1)
	number := func() int64 {
		t.Helper()
		return value[int64](t, app, `SELECT version FROM snapshot_versions WHERE name = 'rate_card'`)
	}
	before, draft := number(), putCard(t, app)
	for _, change := range []string{
		`UPDATE rate_cards SET title = 'x', note = 'x', updated_at = now(), row_version = row_version + 1 WHERE id = $1`,
		`INSERT INTO pricing_rules (rate_card_id, position, multiplier) VALUES ($1, 2, 15000)`,
		`UPDATE pricing_rules SET multiplier = 12000 WHERE rate_card_id = $1 AND position = 2`,
		`DELETE FROM pricing_rules WHERE rate_card_id = $1 AND position = 2`,
		`INSERT INTO rate_card_edits (rate_card_id, at, editor, summary, rules, patch) VALUES ($1, now(), 'someone', 'something', 1, '{}')`,
		`UPDATE rate_card_edits SET undone_at = now(), undone_by = 'someone' WHERE rate_card_id = $1`,
		`INSERT INTO rate_card_replays (id, rate_card_id, row_version, requester, requested_at, first_day, days) VALUES (gen_random_uuid(), $1, 1, 'someone', now(), '2026-01-02', 1)`,
		`UPDATE rate_cards SET state = 'submitted' WHERE id = $1`,
		`UPDATE rate_cards SET state = 'scheduled', effective_at = now() WHERE id = $1`,
		`UPDATE rate_cards SET state = 'draft' WHERE id = $1`,
		`UPDATE rate_cards SET state = 'discarded' WHERE id = $1`,
	} {
		exec(t, app, change, draft)
		if after := number(); after != before {
			t.Errorf("%s: version went from %d to %d", change, before, after)
		}
	}
	exec(t, app, `UPDATE rate_cards SET row_version = row_version + 1 WHERE id = $1`, inForce)
	if after := number(); after != before {
		t.Errorf("change without effect on prices: version went from %d to %d", before, after)
	}
}

// Rules can only be changed in drafts, so that the card that is approved is the card that was
// submitted.
func TestOnlyRulesOfDraftsChange(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	for name, url := range map[string]string{"service": d.AppURL, "owner": d.OwnerURL} {
		t.Run(name, func(t *testing.T) {
			conn := testkit.Connect(t, url)
			for _, state := range []string{"submitted", "scheduled", "discarded"} {
				card, draft := putCard(t, conn), putCard(t, conn)
				exec(t, conn, `UPDATE rate_cards SET state = $2, effective_at = now() WHERE id = $1`, card, state)
				rejects(t, conn, integrityViolation, rulesImmutable, addRule, card, 2)
				rejects(t, conn, integrityViolation, rulesImmutable,
					`UPDATE pricing_rules SET note = 'x' WHERE rate_card_id = $1`, card)
				rejects(t, conn, integrityViolation, rulesImmutable, `DELETE FROM pricing_rules WHERE rate_card_id = $1`, card)
				rejects(t, conn, integrityViolation, rulesImmutable,
					`UPDATE pricing_rules SET rate_card_id = $2, position = 9 WHERE rate_card_id = $1`, draft, card)
				exec(t, conn, `UPDATE rate_cards SET state = 'draft', effective_at = NULL WHERE id = $1`, card)
				exec(t, conn, addRule, card, 2)
			}
		})
	}
}

// A card gets its version and its effective time when it is published.
func TestRateCardStates(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	card := putCard(t, app)
	const change = `UPDATE rate_cards SET `
	for _, c := range []struct{ constraint, columns string }{
		{"rate_cards_state_known", "state = 'lost'"},
		{"rate_cards_version_when_published", "state = 'published', effective_at = now()"},
		{"rate_cards_version_when_published", "version = 1"},
		{"rate_cards_version_when_published", "state = 'submitted', version = 1"},
		{"rate_cards_version_when_published", "state = 'scheduled', version = 1, effective_at = now()"},
		{"rate_cards_version_when_published", "state = 'discarded', version = 1"},
		{"rate_cards_version_positive", "state = 'published', version = 0, effective_at = now()"},
		{"rate_cards_effective_when_published", "state = 'published', version = 1"},
		{"rate_cards_effective_when_published", "state = 'scheduled'"},
	} {
		rejects(t, app, checkViolation, c.constraint, change+c.columns+` WHERE id = $1`, card)
	}
	exec(t, app, change+`state = 'scheduled', effective_at = now() WHERE id = $1`, card)
	second := putCard(t, app)
	rejects(t, app, uniqueViolation, "rate_cards_one_scheduled",
		change+`state = 'scheduled', effective_at = now() + interval '1 day' WHERE id = $1`, second)
	exec(t, app, change+`state = 'submitted' WHERE id = $1`, card)
	exec(t, app, change+`state = 'scheduled', effective_at = now() + interval '1 day' WHERE id = $1`, second)
	exec(t, app, publish, card, 1)
	exec(t, app, change+`state = 'superseded' WHERE id = $1`, card)
	rejects(t, app, uniqueViolation, "rate_cards_version_key", publish, second, 1)
}
