package faults

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// A database with 260 partitions of each table, which cover 21 years, can be dumped and restored. The restored database
// has the same partitions, indexes, triggers and rights.
func TestDumpOfManyPartitions(t *testing.T) {
	t.Parallel()
	const months = 260
	d := testkit.NewDatabase(t)
	for back := range months {
		d.Exec(t, `SELECT create_partitions(array_agg(DISTINCT parent), 'month', $1, $1) FROM partitions WHERE parent <> 'pings'`,
			testkit.StartTime().AddDate(0, -back, 0))
	}
	const partitions = `SELECT count(*) FROM partitions WHERE parent = 'leads'`
	if n := testkit.Value[int](t, d, partitions); n < months {
		t.Fatalf("got %d partitions, want at least %d", n, months)
	}
	restored := testkit.NewEmptyDatabase(t)
	file := filepath.Join(t.TempDir(), "pingpost.dump")
	for _, command := range [][]string{
		{"pg_dump", d.OwnerURL, "--format=custom", "--file=" + file},
		{"pg_restore", "--dbname=" + restored.RootURL, "--exit-on-error", file},
	} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command[0], err, out)
		}
	}
	for _, query := range []string{
		partitions,
		`SELECT string_agg(concat_ws(' ', parent, name, starts_at, ends_at), '; ' ORDER BY name) FROM partitions`,
		`SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal`,
		`SELECT count(*) FROM pg_index`,
		`SELECT string_agg(concat_ws(' ', relname, relacl::text), '; ' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v')`,
	} {
		if got, want := testkit.Value[any](t, restored, query), testkit.Value[any](t, d, query); got != want {
			t.Errorf("%s: got %v in the restored database, want %v", query, got, want)
		}
	}
}
