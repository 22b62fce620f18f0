package httpserver

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
)

func line(text bool) string {
	var out bytes.Buffer
	rec := &Record{
		Route: "ping", Start: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
		IDText: "rq_1", Outcome: "priced", Partner: uuid.UUID{1}, Lead: uuid.UUID{2},
	}
	NewAccessLog(&out, text).writeRequest(rec, "POST", 200, 1500*time.Microsecond)
	return out.String()
}

// An access log line is identical to the line that slog writes for the same values.
func TestAccessLogHasFormatOfSlog(t *testing.T) {
	for _, text := range []bool{false, true} {
		var want bytes.Buffer
		var handler slog.Handler = slog.NewJSONHandler(&want, nil)
		if text {
			handler = slog.NewTextHandler(&want, nil)
		}
		r := slog.NewRecord(time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), slog.LevelInfo, "request", 0)
		r.Add("request_id", "rq_1", "method", "POST", "route", "ping", "status", 200, "outcome", "priced",
			"duration_us", 1500, "partner", id.Format(id.Partner, uuid.UUID{1}),
			"lead_id", id.Format(id.Lead, uuid.UUID{2}))
		if err := handler.Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := line(text); got != want.String() {
			t.Errorf("text = %t: got\n%swant\n%s", text, got, want.String())
		}
	}
	if !json.Valid([]byte(strings.TrimSpace(line(false)))) {
		t.Error("the line is not valid JSON")
	}
}
