package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// The commands in the tutorials work with dev, in the order of the pages.
func TestTutorials(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, nil, "--data-dir", p.dir)
	dir := folder(t)
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(dir, "bin", "pingpost")); err != nil {
		t.Fatal(err)
	}
	partner := p.Partners[0]
	follow := func(page string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		run := exec.CommandContext(ctx, "bash", "-euc", script(t, filepath.Join("tutorials", page)))
		run.Dir = dir
		run.Env = environ("BASE_URL="+p.APIURL+"/p/"+partner.Slug, "PINGPOST_SECRET="+partner.Secret, "PINGPOST_DATA_DIR="+p.dir)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", page, err, out)
		}
	}
	answer := func(file string) (a struct {
		LeadID   string  `json:"leadId"`
		BidPrice float64 `json:"bidPrice"`
		Payout   float64 `json:"payout"`
	}) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatalf("%s: %v: %s", file, err, text)
		}
		return a
	}

	follow("first-lead.md")
	ping, delivered, replayed := answer("ping.json"), answer("delivered.json"), answer("replayed.json")
	if ping.BidPrice <= 0 || delivered.Payout != ping.BidPrice {
		t.Errorf("quoted %v, paid %v", ping.BidPrice, delivered.Payout)
	}
	if delivered.LeadID == "" || replayed.LeadID != delivered.LeadID {
		t.Errorf("delivered as %q, replayed as %q", delivered.LeadID, replayed.LeadID)
	}

	follow("onboard-a-partner.md")
	var partners []struct {
		Slug   string `json:"slug"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(p.on(t, "partner", "list", "--json").ok(t)), &partners); err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for _, one := range partners {
		status[one.Slug] = one.Status
	}
	if status["northgate"] != "approved" {
		t.Errorf("partners %v, want northgate approved", status)
	}
	if code := p.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}
