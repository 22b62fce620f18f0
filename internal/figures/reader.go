package figures

import "github.com/pingpost/pingpost/internal/store"

// Reader reads the figures of one database.
type Reader struct{ db *store.DB }

// NewReader reads from db.
func NewReader(db *store.DB) *Reader { return &Reader{db} }
