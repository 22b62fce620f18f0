package postgres

import (
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
)

// connectionsPerDownload is how many connections a pool has for each download that may be
// under way: a download holds one for as long as somebody reads, and posts need them.
const connectionsPerDownload = 10

// ErrTooManyDownloads means that the limit of concurrent downloads is reached.
var ErrTooManyDownloads = apperr.New(apperr.TooMany, "downloads",
	"As many files are being sent as this node can send at once: try again in a minute. A large part of the ledger can be prepared as a file.").Retry(time.Minute)

// AcquireDownload takes a place for what is sent as it is read from the database, until end.
func (db *DB) AcquireDownload() (end func(), err error) {
	select {
	case db.downloads <- struct{}{}:
		return func() { <-db.downloads }, nil
	default:
		return nil, ErrTooManyDownloads
	}
}
