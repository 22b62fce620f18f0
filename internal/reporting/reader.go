package reporting

import "github.com/pingpost/pingpost/internal/platform/postgres"

// Reader reads reports from a database.
type Reader struct{ db *postgres.DB }

// NewReader returns a Reader for db.
func NewReader(db *postgres.DB) *Reader { return &Reader{db} }
