package postgres

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"gorm.io/gorm"
)

// ByIDs reads the rows with the given values of the column id. The function idOf returns the id of a row.
func ByIDs[T any](q *gorm.DB, ids []uuid.UUID, idOf func(T) uuid.UUID) (map[uuid.UUID]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []T
	if err := q.Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, Translate(err)
	}
	found := make(map[uuid.UUID]T, len(rows))
	for _, row := range rows {
		found[idOf(row)] = row
	}
	return found, nil
}

// Array returns a parameter for a GORM query that is an array. GORM replaces a slice by a list of parameters, which is
// a different statement for each length.
func Array[T any](items []T) pgtype.Array[T] {
	a := pgtype.Array[T]{Elements: items, Dims: []pgtype.ArrayDimension{}, Valid: true}
	if n := len(items); n > 0 {
		a.Dims = append(a.Dims, pgtype.ArrayDimension{Length: int32(n), LowerBound: 1}) //nolint:gosec // far fewer items
	}
	return a
}
