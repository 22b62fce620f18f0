package ui

import (
	"fmt"
	"strings"
)

func (s Series) at(i int) int64 {
	if i < len(s.Values) {
		return s.Values[i]
	}
	return 0
}

// top returns the value at the upper end of the y axis. It is a round number that no value in the chart
// exceeds. It is even, because the middle of the axis is labelled with half of it.
func (c Chart) top() int64 {
	var most int64
	for _, s := range c.Series {
		for _, v := range s.Values {
			most = max(most, v)
		}
	}
	if most <= 8 {
		return max(most+most%2, 2)
	}
	for scale := int64(1); ; scale *= 10 {
		for _, step := range []int64{10, 12, 14, 16, 20, 24, 30, 40, 50, 60, 80} {
			if most <= step*scale || scale > 1<<56 {
				return step * scale
			}
		}
	}
}

// path returns the SVG path of a series in a viewBox of 1000 by 100.
func (c Chart) path(s Series) string {
	var d strings.Builder
	top := float64(c.top())
	for i, v := range s.Values {
		x := 500.0
		if len(s.Values) > 1 {
			x = 1000 * float64(i) / float64(len(s.Values)-1)
		}
		fmt.Fprintf(&d, "%c%.1f %.2f", "ML"[min(i, 1)], x, 100-100*float64(v)/top)
	}
	return d.String()
}

// area returns the SVG path of the area below a series.
func (c Chart) area(s Series) string {
	if len(s.Values) < 2 {
		return ""
	}
	return c.path(s) + "L1000 100L0 100Z"
}

type tick struct{ label, at, anchor string }

// ticks returns at most five labels for the x axis, with their positions.
func (c Chart) ticks() []tick {
	last := len(c.Labels) - 1
	var ticks []tick
	for i := 0; i <= last; i += max(1, (last+3)/4) {
		ticks = append(ticks, tick{
			label:  c.Labels[i],
			at:     fmt.Sprintf("%.1f%%", 100*float64(i)/float64(max(last, 1))),
			anchor: "middle",
		})
	}
	if len(ticks) > 0 {
		ticks[0].anchor = "start"
		if end := &ticks[len(ticks)-1]; end.at == "100.0%" {
			end.anchor = "end"
		}
	}
	return ticks
}

// share returns the length of a bar as a percentage of the longest bar.
func share(count int64, bars []Bar) string {
	var most int64 = 1
	for _, b := range bars {
		most = max(most, b.Count)
	}
	return fmt.Sprintf("%.1f%%", 100*float64(count)/float64(most))
}
