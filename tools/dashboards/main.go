// Command dashboards writes the Grafana dashboards to a folder. `make dashboards` runs it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: dashboards FOLDER"))
	}
	for _, b := range []*dashboard.DashboardBuilder{overview(), database(), work(), business()} {
		if err := write(os.Args[1], b); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// write writes a dashboard to a file that is named after its uid.
func write(folder string, b *dashboard.DashboardBuilder) error {
	d, err := b.Build()
	if err != nil {
		return err
	}
	for i := range d.Panels { // URLs of panels contain their ids
		if id := cog.ToPtr(uint32(i + 1)); d.Panels[i].Panel != nil {
			d.Panels[i].Panel.Id = id
		} else {
			d.Panels[i].RowPanel.Id = *id
		}
	}
	// By default, new versions of Grafana hide links and annotations in a menu.
	for i := range d.Links {
		d.Links[i].Placement = nil
	}
	for i := range d.Annotations.List {
		d.Annotations.List[i].Placement = nil
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, *d.Uid+".json"), append(text, '\n'), 0o644)
}
