package proxies

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/migrations"
)

// If the nodes are upgraded under load to a program with a newer schema, and then go back to the previous program, no
// ping and no post fails.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	previous, next := p.binary, buildWithMigration(t)
	for i := range p.nodes {
		p.start(t, i)
		p.nodes[i].await(t, "/readyz", http.StatusOK)
	}
	through := programs[0].start(t, [2]backend{p.nodes[0].backend, p.nodes[1].backend})
	more, end := p.load(t, through)
	defer end()
	more()
	p.binary = next
	early := &process{
		backend:  backend{testkit.FreeAddress(t), testkit.FreeAddress(t)},
		snapshot: filepath.Join(t.TempDir(), "snapshot"),
	}
	if err := p.serve(early).Run(); err == nil {
		t.Error("the new program starts before the migration")
	}
	env := p.env
	p.env = append(env[:len(env):len(env)], p.owner)
	p.run(t, "migrate", "up")
	p.env = env
	more()
	for _, binary := range []string{next, previous} {
		p.binary = binary
		for i := range p.nodes {
			p.nodes[1-i].await(t, "/readyz", http.StatusOK)
			p.nodes[i].stop(t)
			more()
			p.start(t, i)
			p.nodes[i].await(t, "/readyz", http.StatusOK)
			more()
		}
	}
}

// buildWithMigration builds the service with another migration, after which the program without it still works.
func buildWithMigration(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	newest, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Abs(fmt.Sprintf("../../migrations/%05d_next.sql", newest+1))
	if err != nil {
		t.Fatal(err)
	}
	const migration = "-- oldest program: %d\n-- +goose Up\nALTER TABLE partners ADD COLUMN next text;\n"
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		name: write(t, dir, "next.sql", fmt.Sprintf(migration, newest)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return build(t, "-overlay", write(t, dir, "overlay.json", string(overlay)))
}

// stop stops the node as a service manager does.
func (n *process) stop(t *testing.T) {
	t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Wait(); err != nil {
		t.Errorf("the node stops with %v: %s", err, n.log.String())
	}
	n.cmd = nil
}
