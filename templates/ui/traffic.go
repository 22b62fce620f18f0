package ui

import (
	"fmt"
)

// TrafficStep contains the numbers of pings and posts in one time step of a chart.
type TrafficStep struct {
	Label        string
	Pings, Posts int64
}

// TrafficChart returns a chart of pings and posts. The parameter head is the heading of the time column
// in the chart's data table. The parameter words ends the summary of the chart, such as "in the last
// hour".
func TrafficChart(steps []TrafficStep, head, words string) Chart {
	c := Chart{ID: "traffic", Title: "Pings and posts", Steps: head, Series: []Series{{Name: "Pings"}, {Name: "Posts"}}}
	var pings, posts int64
	var busiest TrafficStep
	for _, s := range steps {
		c.Labels = append(c.Labels, s.Label)
		c.Series[0].Values = append(c.Series[0].Values, s.Pings)
		c.Series[1].Values = append(c.Series[1].Values, s.Posts)
		pings, posts = pings+s.Pings, posts+s.Posts
		if s.Pings > busiest.Pings {
			busiest = s
		}
	}
	if pings == 0 && posts == 0 {
		c.Summary = "No pings or posts " + words
	} else {
		c.Summary = fmt.Sprintf("%s and %s %s", Plural(pings, "ping", "pings"), Plural(posts, "post", "posts"), words)
	}
	if busiest.Pings > 0 {
		c.Summary += fmt.Sprintf(". The peak was %s (UTC), with %s", busiest.Label, Plural(busiest.Pings, "ping", "pings"))
	}
	c.Summary += "."
	return c
}

// PingsTile returns a tile with the number of pings.
func PingsTile(all, rejected int64) StatTile {
	note := ""
	if all > 0 {
		note = "including " + Plural(rejected, "rejected ping", "rejected pings")
	}
	return StatTile{Name: "pings", Label: "Pings", Value: Number(all), Note: note}
}

// AcceptedTile returns a tile with the share of pings that received a price.
func AcceptedTile(priced, pings int64) StatTile {
	note := "no pings"
	if pings > 0 {
		note = "of " + Plural(pings, "ping", "pings")
	}
	if priced < pings {
		note += " (the others got no price)"
	}
	return StatTile{Name: "accepted", Label: "Priced", Value: Share(priced, pings), Note: note}
}

// PostsTile returns a tile with the number of posts.
func PostsTile(all, retries, rejected int64) StatTile {
	note := ""
	if all > 0 {
		note = "including " + Plural(retries, "retry", "retries") + " and " +
			Plural(rejected, "rejected post", "rejected posts")
	}
	return StatTile{Name: "posts", Label: "Posts", Value: Number(all), Note: note}
}
