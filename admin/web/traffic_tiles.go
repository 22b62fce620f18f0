package web

import (
	"fmt"

	"github.com/pingpost/pingpost/templates/ui"
)

// PingsTile returns a tile with the number of pings.
func PingsTile(all, rejected int64) ui.StatTile {
	note := ""
	if all > 0 {
		note = "including " + CountText(rejected, false, "rejected ping", "rejected pings")
	}
	return ui.StatTile{Name: "pings", Label: "Pings", Value: ui.Number(all), Note: note}
}

// AcceptedTile returns a tile with the share of pings that received a price.
func AcceptedTile(priced, pings int64) ui.StatTile {
	note := "no pings"
	if pings > 0 {
		note = "of " + CountText(pings, false, "ping", "pings")
	}
	if priced < pings {
		note += " (the others got no price)"
	}
	return ui.StatTile{Name: "accepted", Label: "Priced", Value: Share(priced, pings), Note: note}
}

// PostsTile returns a tile with the number of posts.
func PostsTile(all, retries, rejected int64) ui.StatTile {
	note := ""
	if all > 0 {
		note = "including " + CountText(retries, false, "retry", "retries") + " and " + CountText(rejected, false,
			"rejected post", "rejected posts")
	}
	return ui.StatTile{Name: "posts", Label: "Posts", Value: ui.Number(all), Note: note}
}

// Share formats a part of a whole as a percentage. If the whole is zero, Share returns a dash.
func Share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
