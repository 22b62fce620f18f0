package leads

import (
	"context"
	"crypto/sha256"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

const (
	// A text is standard if it was used for standardPeople people within standardPeriod. Such a text cannot identify
	// any of them (decision 54).
	standardPeople = 20
	standardPeriod = 7 * 24 * time.Hour
	// countedUses limits how many uses of a text are counted, because one person can have very many leads.
	countedUses = 1000
	// MarkStandardDisclosures is called every minute. A text that one call misses is found after its next use.
	markedEvery = 2 * time.Minute
	markTimeout = "45s"
	// Only older standard texts are cached, so that a standby that becomes the primary has them.
	cachedAfter = time.Hour
	maxCached   = 10_000
)

// setDisclosureDigest sets the digest that identifies the disclosure text.
func (d *Delivery) setDisclosureDigest() {
	if text := d.Consent.DisclosureText; text != nil {
		digest := sha256.Sum256([]byte(*text))
		d.Consent.DisclosureDigest = digest[:]
	}
}

// cachedTexts contains the digests of standard texts. The database has these texts, so posts send only their
// digests.
type cachedTexts struct{ current atomic.Pointer[cachedDigests] }

type cachedDigests struct {
	digests map[string]bool
	until   time.Time // when they expire, because the database may have been restored since
}

// newText returns the disclosure text that must be sent to the database, or nil if none must be sent.
func (c *cachedTexts) newText(d *Delivery) *string {
	if now := c.current.Load(); now != nil && d.Lead.ReceivedAt.Before(now.until) &&
		now.digests[string(d.Consent.DisclosureDigest)] {
		return nil
	}
	return d.Consent.DisclosureText
}

// findStandardSQL finds the texts that have become standard. It checks the texts that were used by leads after $1, and
// counts the different people among the leads after $2. Sandbox leads do not count, because anyone can send many of
// them. Most texts that are not standard have few uses, so this is checked first.
const findStandardSQL = `SELECT digest FROM (SELECT DISTINCT digest FROM disclosure_uses WHERE lead_id > $1) AS recent
	WHERE EXISTS (SELECT FROM disclosure_uses u WHERE u.digest = recent.digest AND u.lead_id > $2 OFFSET $4 - 1)
		AND (SELECT NOT standard FROM disclosures d WHERE d.digest = recent.digest)
		AND (SELECT count(DISTINCT email_digest) FROM (
			SELECT email_digest FROM disclosure_uses u JOIN leads l ON l.id = u.lead_id
			WHERE u.digest = recent.digest AND u.lead_id > $2 AND l.id > $2 AND NOT l.sandbox LIMIT $3) AS counted) >= $4`

const deleteStandardUsesSQL = `DELETE FROM disclosure_uses WHERE lead_id IN (
	SELECT lead_id FROM disclosures d CROSS JOIN LATERAL (SELECT lead_id FROM disclosure_uses u WHERE u.digest = d.digest
		LIMIT $1) AS used
	WHERE standard LIMIT $1)`

// MarkStandardDisclosures marks the disclosure texts that have become standard. After that, posts and
// erasures no longer lock these texts or record their uses. After an hour, posts do not send these texts to
// the database either. Each node calls it every minute. Only one node at a time marks texts.
func (s *Store) MarkStandardDisclosures(ctx context.Context, now time.Time) error {
	found, err := s.findStandard(ctx, now)
	if err != nil {
		return postgres.Translate(err)
	}
	for _, digest := range found { // one by one, because posts with the text wait until it is marked
		if _, err := s.pool.Exec(ctx, `UPDATE disclosures SET standard = true WHERE digest = $1 AND NOT standard`,
			digest); err != nil {
			return postgres.Translate(err)
		}
	}
	if _, err := postgres.InBatches(ctx, s.pool, deleteStandardUsesSQL); err != nil {
		return err
	}
	return postgres.Translate(s.cacheStandard(ctx, now))
}

// findStandard returns nothing if another node is searching.
func (s *Store) findStandard(ctx context.Context, now time.Time) (found [][]byte, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(hashtext('standard disclosures'))`).Scan(&mine); err != nil || !mine {
			return err
		}
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+markTimeout+`'`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, findStandardSQL, postgres.PlanEachTime,
			id.First(now.Add(-quote.Validity-markedEvery)), id.First(now.Add(-standardPeriod)), countedUses, standardPeople)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
		return err
	})
	return found, err
}

func (s *Store) cacheStandard(ctx context.Context, now time.Time) error {
	rows, err := s.pool.Query(ctx, `SELECT digest FROM disclosures WHERE standard AND first_used_at < $1 ORDER BY first_used_at DESC LIMIT $2`,
		now.Add(-cachedAfter), maxCached)
	if err != nil {
		return err
	}
	cached := &cachedDigests{digests: map[string]bool{}, until: now.Add(markedEvery)}
	var digest []byte
	if _, err := pgx.ForEachRow(rows, []any{&digest}, func() error {
		cached.digests[string(digest)] = true
		return nil
	}); err != nil {
		return err
	}
	s.cached.current.Store(cached)
	return nil
}
