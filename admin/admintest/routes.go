package admintest

import (
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
)

// FillIn puts an id into the path of a route, and unused ids and numbers for its other parts.
func FillIn(path string, one string) string {
	return strings.NewReplacer(
		"{$}", "", "{id}", one, "{session}", id.Format(id.Session, uuid.New()), "{token}", "no-such-token",
		"{account}", id.Format(id.Account, uuid.New()), "{secret}", id.Format(id.Secret, uuid.New()),
		"{n}", "0", "{position}", "0", "{line}", "1", "{partner}", id.Format(id.Partner, uuid.New()),
	).Replace(path)
}
