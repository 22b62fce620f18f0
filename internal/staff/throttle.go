package staff

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	// forgetAfter is the time without failures after which a failure count is reset. It does not apply
	// to wrong codes.
	forgetAfter = time.Hour
	// firstWait is the wait after the first failure over the limit. The wait doubles with each
	// further failure, up to longestWait. Users are never locked out permanently, and attackers get
	// at most about a hundred guesses a day.
	firstWait   = 30 * time.Second
	longestWait = 15 * time.Minute
	// knownFor is how long an address is considered known after the user has logged in from it.
	knownFor = 30 * 24 * time.Hour
)

type attemptLimit struct {
	digest       []byte // identifies the counter in the database
	free         int    // number of failures before the first wait
	cleared      bool   // whether a successful attempt resets the counter
	untilSuccess bool   // whether the counter is kept after forgetAfter
}

func (s *Service) limitDigest(parts ...string) []byte {
	return s.keys.Digest(keyring.LogIn, []byte(strings.Join(parts, "\x00")))
}

// passwordLimits returns the limits for a password attempt, in this order:
//   - The limit for the client address. It is checked first, so that an address over its limit does
//     not add counters for more users.
//   - The limit for the user at this address.
//   - The limit for the user at all unknown addresses. It does not apply if the user has logged in
//     from this address before, so that an attacker elsewhere cannot lock the user out.
func (s *Service) passwordLimits(
	ctx context.Context, user models.Staff, email, address string,
) ([]attemptLimit, error) {
	email, address = strings.ToLower(email), clientaddr.Group(address).String()
	all := []attemptLimit{
		{digest: s.limitDigest("address", address), free: 30},
		{digest: s.limitDigest("both", email, address), free: 5, cleared: true},
	}
	known, err := s.knownAddress(ctx, user, address)
	if err != nil {
		return nil, err
	}
	if !known {
		all = append(all, attemptLimit{digest: s.limitDigest("person", email), free: 20})
	}
	return all, nil
}

// codeLimits returns the limit for wrong codes that a user enters from the given address, in all
// sessions together. An address from which the user has logged in before has a limit of its own. All
// other addresses share one limit. After the 20th wrong code, the user has to wait. Only a correct code
// resets the count.
func (s *Service) codeLimits(ctx context.Context, user models.Staff, address string) ([]attemptLimit, error) {
	address = clientaddr.Group(address).String()
	known, err := s.knownAddress(ctx, user, address)
	if err != nil {
		return nil, err
	}
	b := attemptLimit{digest: s.limitDigest("code", user.ID.String()), free: 19, cleared: true, untilSuccess: true}
	if known {
		b.digest = s.limitDigest("code", user.ID.String(), address)
	}
	return []attemptLimit{b}, nil
}

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

// limitAttempts calls check and reports whether the attempt was successful. If a limit has been reached, it does
// not call check, but returns an error with the code
// apperr.TooMany. If check returns an error, the attempt is not counted.
func (s *Service) limitAttempts(ctx context.Context, limits []attemptLimit, check func() (bool, error)) (bool, error) {
	if err := s.countAttempt(ctx, limits); err != nil {
		return false, err
	}
	ok, err := check()
	switch {
	case err != nil:
		s.uncountAttempt(ctx, limits)
	case ok:
		s.succeeded(ctx, limits)
	}
	return ok, err
}

// countAttempt counts an attempt as failed before it is made, so that concurrent attempts do not
// allow additional guesses. If a limit has been reached, it returns an error that contains the time
// to wait.
func (s *Service) countAttempt(ctx context.Context, all []attemptLimit) error {
	for i, b := range all {
		wait, err := s.countOne(ctx, b)
		if err != nil || wait > 0 {
			s.uncountAttempt(ctx, all[:i])
		}
		if err != nil {
			return err
		}
		if wait > 0 {
			return apperr.New(apperr.TooMany, "throttled", "Too many failed attempts.").WithRetryAfter(wait)
		}
	}
	return nil
}

const countSQL = `INSERT INTO login_attempts AS a (digest, failures, last_at, blocked_until, until_success) VALUES ($1, 1, $2, $2, $7)
	ON CONFLICT (digest) DO UPDATE SET
		failures = CASE WHEN NOT a.until_success AND a.last_at < $3 THEN 1 ELSE a.failures + 1 END,
		last_at = $2,
		blocked_until = CASE WHEN NOT a.until_success AND a.last_at < $3 OR a.failures < $4 THEN $2
			ELSE $2 + least(make_interval(secs => $5 * power(2, least(a.failures - $4, 20))), make_interval(secs => $6)) END
	WHERE a.blocked_until <= $2
	RETURNING failures`

func (s *Service) countOne(ctx context.Context, b attemptLimit) (wait time.Duration, err error) {
	now := s.clock.Now()
	var failures int
	err = s.db.Pool.QueryRow(ctx, countSQL, b.digest, now, now.Add(-forgetAfter), b.free,
		firstWait.Seconds(), longestWait.Seconds(), b.untilSuccess).Scan(&failures)
	if err == nil {
		return 0, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return 0, postgres.Translate(err)
	}
	var free time.Time
	if err := s.db.Pool.QueryRow(ctx, `SELECT blocked_until FROM login_attempts WHERE digest = $1`, b.digest).Scan(&free); err != nil {
		return 0, postgres.Translate(err)
	}
	return max(free.Sub(now), time.Second), nil
}

// succeeded updates the counters after a successful attempt. It resets the counter of each limit whose
// field cleared is true, and undoes countAttempt for the other limits.
func (s *Service) succeeded(ctx context.Context, all []attemptLimit) {
	for _, b := range all {
		if b.cleared {
			_, _ = s.db.Pool.Exec(ctx, `DELETE FROM login_attempts WHERE digest = $1`, b.digest) // errors are harmless, see uncountAttempt
		} else {
			s.uncountAttempt(ctx, []attemptLimit{b})
		}
	}
}

// uncountAttempt undoes countAttempt. It ignores errors, because an error costs the user only one guess.
func (s *Service) uncountAttempt(ctx context.Context, all []attemptLimit) {
	for _, b := range all {
		_, _ = s.db.Pool.Exec(ctx,
			`UPDATE login_attempts SET failures = greatest(failures - 1, 0), blocked_until = $2 WHERE digest = $1`, b.digest,
			s.clock.Now())
	}
}
