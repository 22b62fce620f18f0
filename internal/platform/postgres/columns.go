package postgres

import (
	"strings"
	"sync"

	"gorm.io/gorm/schema"
)

// Columns returns the columns of the model M as an SQL list, such as "p.id, p.slug" for the table alias p.
// SQL uses it instead of p.*, because a prepared statement that returns p.* fails once a migration has
// added a column.
func Columns[M any](table string) string {
	s, err := schema.Parse(new(M), &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		panic(err) // M is not a struct
	}
	list := make([]string, len(s.DBNames))
	for i, name := range s.DBNames {
		list[i] = table + "." + name
	}
	return strings.Join(list, ", ")
}
