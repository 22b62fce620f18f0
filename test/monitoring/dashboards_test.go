package monitoring

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

const dashboardsFolder = "../../deploy/grafana/dashboards"

type dashboard struct {
	UID, Title, Description, Refresh string
	Tags                             []string
	Panels                           []panel
	Annotations                      struct {
		List []struct{ Name, Expr string }
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Targets                  []target
	FieldConfig              struct {
		Defaults struct{ Unit, NoValue string }
	}
}

type target struct{ Expr, LegendFormat string }

// dashboards returns the dashboards by the names of their files.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dashboardsFolder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d dashboards: %v", len(files), err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		var d dashboard
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = d
	}
	return all
}

// TestDashboardsAreGenerated compares the dashboards with those that tools/dashboards generates.
func TestDashboardsAreGenerated(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", folder)
	cmd.Dir = "../../tools/dashboards"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, want := files(t, dashboardsFolder), files(t, folder); !maps.Equal(got, want) {
		t.Errorf("%s is out of date: run `make dashboards` and commit the result", dashboardsFolder)
	}
}

// files returns the contents of the files in a folder by their names.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Name()] = string(text)
	}
	return all
}

var (
	documentLink   = regexp.MustCompile(`https://github\.com/pingpost/pingpost/blob/main/([\w./-]+)`)
	saysWhatIsGood = regexp.MustCompile(`Good: |objective`)
)

// TestDashboardsAreComplete checks that the dashboards have what users need, and use only metrics that exist.
func TestDashboardsAreComplete(t *testing.T) {
	t.Parallel()
	known := knownMetrics(t)
	for file, d := range dashboards(t) {
		if d.UID+".json" != file || d.Title == "" || d.Description == "" || d.Refresh != "30s" ||
			!slices.Equal(d.Tags, []string{"pingpost"}) {
			t.Errorf("%s has the uid %q, the title %q, the description %q, the refresh %q and the tags %q", file, d.UID, d.Title,
				d.Description, d.Refresh, d.Tags)
		}
		for _, a := range d.Annotations.List {
			known.check(t, file+": "+a.Name, a.Expr)
		}
		ids := map[int]bool{}
		for _, p := range d.Panels {
			where := file + ": " + p.Title
			if ids[p.ID] || p.ID == 0 || p.Title == "" {
				t.Errorf("%s: the panel with the id %d has no title, or its id is not unique", where, p.ID)
			}
			ids[p.ID] = true
			if p.Type == "row" {
				continue
			}
			if p.FieldConfig.Defaults.Unit == "" || !saysWhatIsGood.MatchString(p.Description) {
				t.Errorf("%s: the unit is missing, or the description does not say what is good", where)
			}
			for _, q := range p.Targets {
				known.check(t, where, q.Expr)
			}
			for _, link := range documentLink.FindAllStringSubmatch(p.Description, -1) {
				if _, err := os.Stat(filepath.Join("../..", link[1])); err != nil {
					t.Errorf("%s: %v", where, err)
				}
			}
		}
	}
}
