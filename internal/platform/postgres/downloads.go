package postgres

import (
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// connectionsPerDownload determines how many downloads may run at the same time: one for every ten
// connections in the pool. A download uses one connection until it ends. Posts need the other
// connections.
const connectionsPerDownload = 10

// ErrTooManyDownloads means that the limit on concurrent downloads has been reached.
var ErrTooManyDownloads = apperr.New(apperr.TooMany, "downloads",
	"Too many downloads are running. Try again in a minute. To get a large part of the ledger, export it in the background.").
	WithRetryAfter(time.Minute)

// AcquireDownload reserves a slot for a download that streams from the database. The caller must call
// the returned function when the download has ended.
func (db *DB) AcquireDownload() (end func(), err error) {
	select {
	case db.downloads <- struct{}{}:
		return func() { <-db.downloads }, nil
	default:
		return nil, ErrTooManyDownloads
	}
}
