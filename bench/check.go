package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// recordTimeout is how long to wait until the last pings have been stored.
const recordTimeout = 30 * time.Second

// recorder contains the number of pings that the product has written to the database, and the number
// that it has dropped.
type recorder struct{ written, dropped int64 }

func readRecorder(ctx context.Context, ops string) (r recorder, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ops+"/metrics", nil)
	if err != nil {
		return r, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	return parseRecorder(answer.Body)
}

func parseRecorder(metrics io.Reader) (r recorder, err error) {
	found := 0
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		series, _, _ := strings.Cut(name, "{")
		var into *int64
		switch series {
		case "pingpost_pings_recorded_total":
			into = &r.written
		case "pingpost_pings_dropped_total":
			into = &r.dropped
		default:
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return r, fmt.Errorf("the metric %s is not a number", series)
		}
		*into += int64(n)
		found++
	}
	const series = 5 // one for recorded pings, and one for each of the four reasons why pings are dropped
	if found != series {
		return r, fmt.Errorf("got %d of the recorder's metrics, want %d", found, series)
	}
	return r, lines.Err()
}

// awaitRecorded waits until every answered ping has been either recorded or dropped.
func awaitRecorded(ctx context.Context, ops string, answered int64) error {
	var r recorder
	return await(ctx, recordTimeout, func() (_ bool, err error) {
		r, err = readRecorder(ctx, ops)
		return r.written+r.dropped >= answered, err
	}, func() error {
		return fmt.Errorf("%d pings were answered, but only %[3]d were recorded after %[2]s", answered, recordTimeout,
			r.written)
	})
}

// checkPings returns an error unless the database contains exactly as many priced pings as the product
// answered.
func checkPings(ctx context.Context, d *database, ops string, answered int64) error {
	if err := awaitRecorded(ctx, ops, answered); err != nil {
		return err
	}
	r, err := readRecorder(ctx, ops)
	if err != nil {
		return err
	}
	if r.dropped != 0 {
		return fmt.Errorf("%d of %d pings were answered but dropped from the log", r.dropped, answered)
	}
	return d.holds(ctx, answered, "pings", "pings WHERE outcome = 'priced'")
}

// holds returns an error unless the database contains exactly the wanted number of rows. The parameter
// from is the SQL text after FROM. The parameter what names the rows in the error.
func (d *database) holds(ctx context.Context, want int64, what, from string) error {
	var got int64
	if err := d.root.QueryRow(ctx, "SELECT count(*) FROM "+from).Scan(&got); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%d were acknowledged, but the database %s contains %d %s", want, d.name, got, what)
	}
	return nil
}

// checkLeads returns an error unless the number of complete leads is exactly the number of acknowledged
// posts. A complete lead has a key, a consent, an event and a ledger entry.
func checkLeads(ctx context.Context, d *database, acknowledged int64) error {
	for _, table := range []struct{ what, from string }{
		{"leads", "leads"},
		{"keys", "lead_keys"},
		{"consents", "consents"},
		{"accruals", "ledger_entries WHERE kind = 'accrual'"},
		{"events", "lead_events WHERE kind = 'delivered'"},
		{"complete leads", `leads l JOIN lead_keys k ON k.lead_id = l.id JOIN consents c ON c.lead_id = l.id JOIN lead_events e ON e.lead_id = l.id
			JOIN ledger_entries a ON a.lead_id = l.id AND a.amount_minor = l.price_minor AND a.currency = l.currency`},
	} {
		if err := d.holds(ctx, acknowledged, table.what, table.from); err != nil {
			return err
		}
	}
	return nil
}
