package figures

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/store"
)

// Reader reads the figures of one database.
type Reader struct{ db *store.DB }

// NewReader reads from db.
func NewReader(db *store.DB) *Reader { return &Reader{db} }

func (f *Reader) Read(ctx context.Context, sc scope.Scope, r Range) (Figures, error) {
	return Read(ctx, f.db, sc, r)
}

func (f *Reader) Partner(ctx context.Context, sc scope.Scope, partner uuid.UUID, r Range) (PartnerFigures, error) {
	return ReadPartner(ctx, f.db, sc, partner, r)
}

func (f *Reader) Secrets(ctx context.Context, sc scope.Scope, partner uuid.UUID, r Range) ([]SecretTraffic, error) {
	return ReadSecrets(ctx, f.db, sc, partner, r)
}

func (f *Reader) LastUsed(ctx context.Context, sc scope.Scope, partner uuid.UUID) (map[uuid.UUID]time.Time, error) {
	return LastUsed(ctx, f.db, sc, partner)
}

func (f *Reader) Unsigned(ctx context.Context, sc scope.Scope, partner uuid.UUID, since time.Time) ([]AccountUnsigned, error) {
	return ReadUnsigned(ctx, f.db, sc, partner, since)
}

func (f *Reader) MostUnsigned(ctx context.Context, sc scope.Scope, since time.Time, n int) ([]PartnerUnsigned, error) {
	return MostUnsigned(ctx, f.db, sc, since, n)
}

func (f *Reader) Refusals(ctx context.Context, sc scope.Scope, filter RefusalFilter, p store.Page) (FoundRefusals, error) {
	return ReadRefusals(ctx, f.db, sc, filter, p)
}

func (f *Reader) FindRefusal(ctx context.Context, sc scope.Scope, request uuid.UUID) (Refused, bool, error) {
	return FindRefusal(ctx, f.db, sc, request)
}

func (f *Reader) Arrivals(ctx context.Context, sc scope.Scope, partner uuid.UUID, since time.Time, n int) ([]Arrival, error) {
	return Arrivals(ctx, f.db, sc, partner, since, n)
}
