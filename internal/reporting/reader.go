package reporting

import "github.com/pingpost/pingpost/internal/postgres"

// Reader reads the figures of one database.
type Reader struct{ db *postgres.DB }

// NewReader reads from db.
func NewReader(db *postgres.DB) *Reader { return &Reader{db} }
