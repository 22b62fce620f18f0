package leads

import (
	"context"
	"crypto/sha256"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/models"
)

const (
	// A text is standard if it was used for standardPeople people within standardPeriod. It then cannot
	// identify one of them (decision 54).
	standardPeople = 20
	standardPeriod = 7 * 24 * time.Hour
	// countedUses limits how many uses of a text are counted, because one person can have very many leads.
	countedUses = 1000
	// recentUses is longer than the time between two calls of MarkStandardDisclosures.
	recentUses = 10 * time.Minute
	// knownAfter is the minimum age of texts that posts do not send to the database. It is longer than the lag
	// of a standby, which may become the primary.
	knownAfter = time.Hour
	maxKnown   = 10_000
)

// setDigest sets the digest that identifies the disclosure text.
func (d *Delivery) setDigest() {
	if text := d.Consent.DisclosureText; text != nil {
		digest := sha256.Sum256([]byte(*text))
		d.Consent.DisclosureDigest = digest[:]
	}
}

// knownTexts contains the digests of standard texts. The database has these texts, so posts send only their
// digests.
type knownTexts struct {
	digests atomic.Pointer[map[string]bool]
}

// newText returns the disclosure text, or nil if there is none or it is known.
func (k *knownTexts) newText(c *models.Consent) *string {
	if digests := k.digests.Load(); digests != nil && (*digests)[string(c.DisclosureDigest)] {
		return nil
	}
	return c.DisclosureText
}

// findStandardSQL finds the texts that have become standard. It checks the texts that were used by leads
// after $1, and counts the people of leads after $2. Sandbox leads do not count, because anyone can send
// many of them.
const findStandardSQL = `SELECT digest FROM (SELECT DISTINCT digest FROM disclosure_uses WHERE lead_id > $1) AS recent
	WHERE (SELECT NOT standard FROM disclosures d WHERE d.digest = recent.digest)
		AND (SELECT count(DISTINCT email_digest) FROM (
			SELECT email_digest FROM disclosure_uses u JOIN leads l ON l.id = u.lead_id
			WHERE u.digest = recent.digest AND u.lead_id > $2 AND l.id > $2 AND NOT l.sandbox LIMIT $3) AS counted) >= $4`

const deleteStandardUsesSQL = `DELETE FROM disclosure_uses WHERE lead_id IN (
	SELECT lead_id FROM disclosures d CROSS JOIN LATERAL (SELECT lead_id FROM disclosure_uses u WHERE u.digest = d.digest LIMIT $1) AS used
	WHERE standard LIMIT $1)`

// MarkStandardDisclosures marks the disclosure texts that have become standard. From then on, posts and
// erasures neither lock these texts nor store or delete their uses. After an hour, posts do not send these
// texts to the database either. Each node calls it every minute.
func (s *Store) MarkStandardDisclosures(ctx context.Context, now time.Time) error {
	rows, err := s.pool.Query(ctx, findStandardSQL, postgres.PlanEachTime,
		id.First(now.Add(-quote.Validity-recentUses)), id.First(now.Add(-standardPeriod)), countedUses, standardPeople)
	if err != nil {
		return postgres.Translate(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return postgres.Translate(err)
	}
	for _, digest := range found { // one by one, because posts with the text wait until it is marked
		if _, err := s.pool.Exec(ctx, `UPDATE disclosures SET standard = true WHERE digest = $1 AND NOT standard`, digest); err != nil {
			return postgres.Translate(err)
		}
	}
	if _, err := postgres.InBatches(ctx, s.pool, deleteStandardUsesSQL); err != nil {
		return err
	}
	return s.loadKnown(ctx, now)
}

func (s *Store) loadKnown(ctx context.Context, now time.Time) error {
	rows, err := s.pool.Query(ctx, `SELECT digest FROM disclosures WHERE standard AND first_used_at < $1 ORDER BY first_used_at DESC LIMIT $2`,
		now.Add(-knownAfter), maxKnown)
	if err != nil {
		return postgres.Translate(err)
	}
	digests := map[string]bool{}
	var digest []byte
	if _, err := pgx.ForEachRow(rows, []any{&digest}, func() error {
		digests[string(digest)] = true
		return nil
	}); err != nil {
		return postgres.Translate(err)
	}
	s.known.digests.Store(&digests)
	return nil
}
