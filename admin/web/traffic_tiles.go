package web

import (
	"fmt"

	"github.com/pingpost/pingpost/templates"
)

func PingsTile(all, rejected int64) templates.StatTile {
	return templates.StatTile{Label: "Pings", Value: templates.Number(all), Note: "including " + templates.Number(rejected) + " rejected", URL: "#traffic"}
}

func AcceptedTile(priced, pings int64, url string) templates.StatTile {
	return templates.StatTile{Label: "Accepted", Value: Share(priced, pings), Note: "of " + CountWords(pings, false, "ping", "pings") + ", including rejected", URL: url}
}

func PostsTile(all, retries, rejected int64) templates.StatTile {
	note := "including " + CountWords(retries, false, "retry", "retries") + " and " + templates.Number(rejected) + " rejected"
	return templates.StatTile{Label: "Posts", Value: templates.Number(all), Note: note, URL: "#traffic"}
}

func Share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
