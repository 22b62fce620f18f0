package postgres

import (
	"strings"

	"github.com/google/uuid"
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

// UUIDArray formats ids as the text of an array. A list of parameters would be a different statement for each length.
func UUIDArray(ids []uuid.UUID) string {
	texts := make([]string, len(ids))
	for i, u := range ids {
		texts[i] = u.String()
	}
	return "{" + strings.Join(texts, ",") + "}"
}
