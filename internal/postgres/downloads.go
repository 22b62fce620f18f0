package postgres

import (
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
)

// connectionsPerDownload is how many connections the pool needs for each concurrent
// download. A download uses one connection until it ends, and posts need the others.
const connectionsPerDownload = 10

// ErrTooManyDownloads means that the limit of concurrent downloads is reached.
var ErrTooManyDownloads = apperr.New(apperr.TooMany, "downloads",
	"Too many downloads are running. Try again in a minute. You can also export a large part of the ledger in the background.").Retry(time.Minute)

// AcquireDownload takes a place for what is sent as it is read from the database, until end.
func (db *DB) AcquireDownload() (end func(), err error) {
	select {
	case db.downloads <- struct{}{}:
		return func() { <-db.downloads }, nil
	default:
		return nil, ErrTooManyDownloads
	}
}
