// Package leads owns stored leads: putting one in, once; finding one again; and
// letting go of what may not be kept.
//
// Its times: quoted_at is the ping's moment, received_at the post's, both by the
// service's clock. A lead's id is a UUIDv7 of received_at.
package leads

import "github.com/jackc/pgx/v5/pgxpool"

// Store keeps leads in the database.
type Store struct {
	pool      *pgxpool.Pool
	statement statement
	group     *batcher
}
