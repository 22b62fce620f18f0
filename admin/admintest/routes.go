package admintest

import (
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
)

// FillIn replaces the placeholders in a route's path: {id} with objectID, and the others with
// arbitrary values.
func FillIn(path string, objectID string) string {
	return strings.NewReplacer(
		"{$}", "", "{id}", objectID, "{session}", id.Format(id.Session, uuid.New()), "{token}", "no-such-token",
		"{account}", id.Format(id.Account, uuid.New()), "{secret}", id.Format(id.Secret, uuid.New()),
		"{n}", "0", "{position}", "0", "{line}", "1", "{partner}", id.Format(id.Partner, uuid.New()),
	).Replace(path)
}
