package staff

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/sealed"
	"github.com/pingpost/pingpost/internal/store"
	"github.com/pingpost/pingpost/models"
)

const (
	// forgetAfter is how long a failure is remembered at most.
	forgetAfter = time.Hour
	// firstWait doubles with each further failure, up to longestWait: nobody is
	// locked out for ever, and nobody gets more than a hundred guesses a day.
	firstWait   = 30 * time.Second
	longestWait = 15 * time.Minute
	// knownFor is how long an address from which a person has logged in is theirs.
	knownFor = 30 * 24 * time.Hour
)

// budget is a number of failures that cost nothing.
type budget struct {
	digest []byte
	free   int
}

// budgets are what an attempt is counted against: the person from this address, the
// address, and the person from anywhere. The last does not hold at an address from
// which the person has logged in before: an attacker elsewhere cannot lock them out.
func (s *Service) budgets(ctx context.Context, person models.Staff, email, address string) ([]budget, error) {
	digest := func(parts ...string) []byte {
		return s.keys.Digest(sealed.LogIn, []byte(strings.Join(parts, "\x00")))
	}
	email = strings.ToLower(email)
	all := []budget{{digest("both", email, address), 5}, {digest("address", address), 30}}
	var known bool
	err := s.db.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM staff_sessions
		WHERE staff_id = $1 AND address = $2 AND stage = 'open' AND created_at > $3)`, person.ID, address, s.clock.Now().Add(-knownFor)).Scan(&known)
	if err != nil {
		return nil, store.Translate(err)
	}
	if !known {
		all = append(all, budget{digest("person", email), 20})
	}
	return all, nil
}

// spend counts an attempt as failed before it is made, so that many at once do not
// get more guesses; succeeded gives it back. It fails with how long to wait when a
// budget is used up.
func (s *Service) spend(ctx context.Context, all []budget) error {
	for i, b := range all {
		wait, err := s.spendOne(ctx, b)
		if err != nil || wait > 0 {
			s.giveBack(ctx, all[:i])
		}
		if err != nil {
			return err
		}
		if wait > 0 {
			return fault.New(fault.TooMany, "throttled", "Too many attempts to log in: wait a moment, then try again.").Retry(wait)
		}
	}
	return nil
}

const spendSQL = `INSERT INTO login_attempts AS a (digest, failures, last_at, free_at) VALUES ($1, 1, $2, $2)
	ON CONFLICT (digest) DO UPDATE SET
		failures = CASE WHEN a.last_at < $3 THEN 1 ELSE a.failures + 1 END,
		last_at = $2,
		free_at = CASE WHEN a.last_at < $3 OR a.failures < $4 THEN $2
			ELSE $2 + least(make_interval(secs => $5 * power(2, least(a.failures - $4, 20))), make_interval(secs => $6)) END
	WHERE a.free_at <= $2
	RETURNING failures`

func (s *Service) spendOne(ctx context.Context, b budget) (wait time.Duration, err error) {
	now := s.clock.Now()
	var failures int
	err = s.db.Pool.QueryRow(ctx, spendSQL, b.digest, now, now.Add(-forgetAfter), b.free, firstWait.Seconds(), longestWait.Seconds()).Scan(&failures)
	if err == nil {
		return 0, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return 0, store.Translate(err)
	}
	var free time.Time
	if err := s.db.Pool.QueryRow(ctx, `SELECT free_at FROM login_attempts WHERE digest = $1`, b.digest).Scan(&free); err != nil {
		return 0, store.Translate(err)
	}
	return max(free.Sub(now), time.Second), nil
}

// succeeded gives an attempt back that was right; what the person got wrong from this
// address before is forgotten.
func (s *Service) succeeded(ctx context.Context, all []budget) {
	_, _ = s.db.Pool.Exec(ctx, `DELETE FROM login_attempts WHERE digest = $1`, all[0].digest) // as below
	s.giveBack(ctx, all[1:])
}

// giveBack takes an attempt back that was none. What cannot be given back costs a
// person a guess, and nobody's security.
func (s *Service) giveBack(ctx context.Context, all []budget) {
	for _, b := range all {
		_, _ = s.db.Pool.Exec(ctx, `UPDATE login_attempts SET failures = greatest(failures - 1, 0), free_at = $2 WHERE digest = $1`, b.digest, s.clock.Now())
	}
}
