package testkit

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// failVariable makes TestPostgres, in a copy of this test binary, print the location of its
// Postgres and then fail.
const failVariable = "TESTKIT_TEST_FAIL"

func TestMain(m *testing.M) { Main(m) }

func TestPostgres(t *testing.T) {
	s := Postgres(t)
	if Postgres(t) != s {
		t.Error("started a second Postgres")
	}
	c, err := pgx.Connect(t.Context(), s.SuperuserURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for name, want := range map[string]string{
		"fsync":          "off",
		"shared_buffers": "64MB",
		"wal_level":      "minimal",
		"autovacuum":     "off",
	} {
		var got string
		if err := c.QueryRow(t.Context(), "SHOW "+name).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("got %s = %s, want %s", name, got, want)
		}
	}
	if os.Getenv(failVariable) != "" {
		t.Errorf("at %s|%s|", process.folder, s.SuperuserURL("postgres"))
	}
}

func TestMainReturnsFailureAndCleansUp(t *testing.T) {
	out, code := copyOfTheTests(t, "^TestPostgres$", failVariable+"=1")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	at := strings.Split(out, "|")
	if len(at) != 3 {
		t.Fatalf("output of the copy: %s", out)
	}
	folder := at[0][strings.LastIndex(at[0], " ")+1:]
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder %s is still there: %v", folder, err)
	}
	if c, err := pgx.Connect(t.Context(), at[1]); err == nil {
		_ = c.Close(t.Context())
		t.Error("the copy's Postgres is still running")
	}
}

func TestWithoutPostgresTestsFail(t *testing.T) {
	nowhere := t.TempDir()
	out, code := copyOfTheTests(t, "^TestPostgres$", "PINGPOST_POSTGRES_BIN="+nowhere)
	if code != 1 || !strings.Contains(out, "cannot start Postgres for tests") || !strings.Contains(out, nowhere) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func copyOfTheTests(t *testing.T, run, variable string) (out string, code int) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", run)
	cmd.Env = append(os.Environ(), variable)
	text, _ := cmd.CombinedOutput()
	return string(text), cmd.ProcessState.ExitCode()
}
