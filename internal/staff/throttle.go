package staff

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/clientaddr"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	// forgetAfter is the time after the last failure at which failures are forgotten, except for
	// wrong codes.
	forgetAfter = time.Hour
	// firstWait doubles with each further failure, up to longestWait. Users are never locked out
	// permanently, and attackers get at most about a hundred guesses a day.
	firstWait   = 30 * time.Second
	longestWait = 15 * time.Minute
	// knownFor is the time after a login during which its address is known.
	knownFor = 30 * 24 * time.Hour
)

// attemptLimit is a counter of failed attempts, with the number of failures before a wait.
type attemptLimit struct {
	digest  []byte
	free    int
	cleared bool // a successful attempt resets the counter; otherwise it is only not counted
	lasting bool // failures are not forgotten after forgetAfter
}

func (s *Service) budgetDigest(parts ...string) []byte {
	return s.keys.Digest(keyring.LogIn, []byte(strings.Join(parts, "\x00")))
}

// passwordBudgets returns the limits for a password attempt: for the client address, for the
// user at this address, and for the user at unknown addresses. The address comes first, so
// that an address over its limit writes no rows for other users. The last limit does not
// apply at an address from which the user has logged in before, so that an attacker elsewhere
// cannot lock the user out.
func (s *Service) passwordBudgets(ctx context.Context, user models.Staff, email, address string) ([]attemptLimit, error) {
	email, address = strings.ToLower(email), clientaddr.Group(address).String()
	all := []attemptLimit{
		{digest: s.budgetDigest("address", address), free: 30},
		{digest: s.budgetDigest("both", email, address), free: 5, cleared: true},
	}
	known, err := s.knownAddress(ctx, user, address)
	if err != nil {
		return nil, err
	}
	if !known {
		all = append(all, attemptLimit{digest: s.budgetDigest("person", email), free: 20})
	}
	return all, nil
}

// codeBudget returns the limit for an authenticator code. It applies to the user across all
// sessions, or to the user at this address if the user has logged in from it before. Only a
// correct code resets it. The wait starts with the 20th wrong code.
func (s *Service) codeBudget(ctx context.Context, user models.Staff, address string) ([]attemptLimit, error) {
	address = clientaddr.Group(address).String()
	known, err := s.knownAddress(ctx, user, address)
	if err != nil {
		return nil, err
	}
	b := attemptLimit{digest: s.budgetDigest("code", user.ID.String()), free: 19, cleared: true, lasting: true}
	if known {
		b.digest = s.budgetDigest("code", user.ID.String(), address)
	}
	return []attemptLimit{b}, nil
}

// knownAddress reports whether the user has logged in from this group of addresses.
func (s *Service) knownAddress(ctx context.Context, user models.Staff, group string) (bool, error) {
	rows, err := s.db.Pool.Query(ctx, `SELECT DISTINCT address FROM staff_sessions
		WHERE staff_id = $1 AND stage = 'open' AND created_at > $2`, user.ID, s.clock.Now().Add(-knownFor))
	if err != nil {
		return false, postgres.Translate(err)
	}
	addresses, err := pgx.CollectRows(rows, pgx.RowTo[string])
	known := slices.ContainsFunc(addresses, func(a string) bool { return clientaddr.Group(a).String() == group })
	return known, postgres.Translate(err)
}

// attempt runs right and reports whether the attempt succeeded. If a limit is reached, it does
// not run right and returns an error with the code apperr.TooMany. If right fails with an
// error, the attempt is not counted.
func (s *Service) attempt(ctx context.Context, budgets []attemptLimit, right func() (bool, error)) (bool, error) {
	if err := s.spend(ctx, budgets); err != nil {
		return false, err
	}
	ok, err := right()
	switch {
	case err != nil:
		s.refundAttempt(ctx, budgets)
	case ok:
		s.succeeded(ctx, budgets)
	}
	return ok, err
}

// spend counts an attempt as failed before it is made, so that concurrent attempts get no
// additional guesses. If a limit is reached, it returns an error with the time to wait.
func (s *Service) spend(ctx context.Context, all []attemptLimit) error {
	for i, b := range all {
		wait, err := s.spendOne(ctx, b)
		if err != nil || wait > 0 {
			s.refundAttempt(ctx, all[:i])
		}
		if err != nil {
			return err
		}
		if wait > 0 {
			return apperr.New(apperr.TooMany, "throttled", "Too many failed attempts. Try again later.").Retry(wait)
		}
	}
	return nil
}

const spendSQL = `INSERT INTO login_attempts AS a (digest, failures, last_at, free_at, lasting) VALUES ($1, 1, $2, $2, $7)
	ON CONFLICT (digest) DO UPDATE SET
		failures = CASE WHEN NOT a.lasting AND a.last_at < $3 THEN 1 ELSE a.failures + 1 END,
		last_at = $2,
		free_at = CASE WHEN NOT a.lasting AND a.last_at < $3 OR a.failures < $4 THEN $2
			ELSE $2 + least(make_interval(secs => $5 * power(2, least(a.failures - $4, 20))), make_interval(secs => $6)) END
	WHERE a.free_at <= $2
	RETURNING failures`

func (s *Service) spendOne(ctx context.Context, b attemptLimit) (wait time.Duration, err error) {
	now := s.clock.Now()
	var failures int
	err = s.db.Pool.QueryRow(ctx, spendSQL, b.digest, now, now.Add(-forgetAfter), b.free,
		firstWait.Seconds(), longestWait.Seconds(), b.lasting).Scan(&failures)
	if err == nil {
		return 0, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return 0, postgres.Translate(err)
	}
	var free time.Time
	if err := s.db.Pool.QueryRow(ctx, `SELECT free_at FROM login_attempts WHERE digest = $1`, b.digest).Scan(&free); err != nil {
		return 0, postgres.Translate(err)
	}
	return max(free.Sub(now), time.Second), nil
}

// succeeded updates the counters after a successful attempt.
func (s *Service) succeeded(ctx context.Context, all []attemptLimit) {
	for _, b := range all {
		if b.cleared {
			_, _ = s.db.Pool.Exec(ctx, `DELETE FROM login_attempts WHERE digest = $1`, b.digest) // a failure is harmless, see refundAttempt
		} else {
			s.refundAttempt(ctx, []attemptLimit{b})
		}
	}
}

// refundAttempt uncounts an attempt. It ignores errors, because the user only loses a guess.
func (s *Service) refundAttempt(ctx context.Context, all []attemptLimit) {
	for _, b := range all {
		_, _ = s.db.Pool.Exec(ctx,
			`UPDATE login_attempts SET failures = greatest(failures - 1, 0), free_at = $2 WHERE digest = $1`, b.digest,
			s.clock.Now())
	}
}
