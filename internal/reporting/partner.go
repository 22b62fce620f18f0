package reporting

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Outcome is the number of requests to an endpoint that had the same outcome.
type Outcome struct {
	Endpoint, Outcome string
	Count             int64
}

// Latency contains the latency percentiles of an endpoint. Each percentile is rounded up to a bound
// in models.LatencyBounds. A percentile above the last bound is Beyond.
type Latency struct {
	Endpoint      string
	Count         int64
	P50, P95, P99 time.Duration
}

// Beyond stands for a latency above the last bound in models.LatencyBounds.
const Beyond = time.Duration(-1)

// PartnerFigures contains a partner's traffic in a range. It includes sandbox accounts, so that
// account managers can see test posts during onboarding. Steps, Days and Outcomes include rejected
// requests, so their totals are equal.
type PartnerFigures struct {
	Steps    []Step    // all steps, including those without traffic
	Days     []Day     // days with traffic, newest first
	Outcomes []Outcome // most frequent first
	Latency  []Latency // only endpoints with traffic, ordered by name
}

// Partner returns a partner's traffic in a range. All counts are zero if the partner is outside the
// scope.
func (r *Reader) Partner(ctx context.Context, sc scope.Scope, partner uuid.UUID, within Range) (PartnerFigures, error) {
	f := PartnerFigures{Steps: within.steps()}
	if !sc.Allows(partner) {
		return f, nil
	}
	rows, err := r.db.Pool.Query(ctx, partnerTraffic(), partner, within.From, within.Until, within.Step.Seconds())
	if err != nil {
		return f, postgres.Translate(err)
	}
	defer rows.Close()
	outcomes, latency, days := map[Outcome]int64{}, map[string][]int64{}, map[time.Time]*Day{}
	for rows.Next() {
		var step int
		var o Outcome
		var took []int64
		if err := rows.Scan(&step, &o.Endpoint, &o.Outcome, &o.Count, &took); err != nil {
			return f, postgres.Translate(err)
		}
		if o.Endpoint == "ping" {
			f.Steps[step].Pings += o.Count
		} else {
			f.Steps[step].Posts += o.Count
		}
		if latency[o.Endpoint] == nil {
			latency[o.Endpoint] = make([]int64, len(took))
		}
		for i, n := range took {
			latency[o.Endpoint][i] += n
		}
		at := f.Steps[step].At.Truncate(day)
		if days[at] == nil {
			days[at] = &Day{Day: at}
		}
		days[at].add(o)
		outcomes[Outcome{Endpoint: o.Endpoint, Outcome: o.Outcome}] += o.Count
	}
	f.Days, f.Outcomes, f.Latency = newestDays(days), sortedOutcomes(outcomes), percentiles(latency)
	return f, postgres.Translate(rows.Err())
}

// partnerTraffic returns a query for a partner's traffic. The query sums each latency bucket separately,
// because unnesting the array of buckets takes several times as long.
func partnerTraffic() string {
	var buckets strings.Builder
	for i := range len(models.LatencyBounds) + 1 {
		fmt.Fprintf(&buckets, ", coalesce(sum(latency[%d])::bigint, 0)", i+1)
	}
	return `SELECT floor(extract(epoch FROM minute - $2) / $4)::int, endpoint, outcome, sum(count)::bigint, ARRAY[` + buckets.String()[2:] + `]
		FROM traffic_minutes WHERE partner_id = $1 AND minute >= $2 AND minute < $3 GROUP BY 1, 2, 3`
}

func sortedOutcomes(counts map[Outcome]int64) (sorted []Outcome) {
	for o, n := range counts {
		o.Count = n
		sorted = append(sorted, o)
	}
	slices.SortFunc(sorted, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Endpoint+a.Outcome, b.Endpoint+b.Outcome))
	})
	return sorted
}

func percentiles(latency map[string][]int64) (all []Latency) {
	for endpoint, buckets := range latency {
		l := Latency{Endpoint: endpoint}
		for _, n := range buckets {
			l.Count += n
		}
		if l.Count > 0 {
			l.P50, l.P95, l.P99 = percentile(buckets, l.Count, 50), percentile(buckets, l.Count, 95), percentile(buckets,
				l.Count, 99)
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b Latency) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return all
}

// percentile returns the upper bound of the bucket that contains the percentile, or Beyond if that
// bucket has no upper bound.
func percentile(buckets []int64, count, percent int64) time.Duration {
	rank := (count*percent + 99) / 100
	for i, bound := range models.LatencyBounds {
		if rank -= buckets[i]; rank <= 0 {
			return bound
		}
	}
	return Beyond
}
