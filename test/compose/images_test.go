//go:build linux

package compose

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devvault"
)

// image is what an image contains and how it starts.
type image struct {
	files   string // the folder with its files
	passwd  string // replaces /etc/passwd, if not empty
	mounts  []mount
	user    uint32
	command []string          // before the service's command
	owners  map[string]uint32 // of the image's folders that are volumes
	signal  syscall.Signal    // stops the service
}

const dataFolder = "/var/lib/postgresql/data"

// startPostgres creates the database server's files, if they are missing, and starts it, as the image does.
const startPostgres = `
	[ -s $PGDATA/PG_VERSION ] || {
		initdb --username=postgres --pwfile=$POSTGRES_PASSWORD_FILE --auth-local=trust --auth-host=scram-sha-256 \
			--locale=C.UTF-8 --no-sync
		echo host all all all scram-sha-256 >>$PGDATA/pg_hba.conf
	}
	exec "$@" '-clisten_addresses=*' -cunix_socket_directories=`

// searched are the folders in which containers find programs.
var searched = postgresPrograms() + ":/programs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"

// postgresPrograms returns Debian's folder with the programs of Postgres, which are not on PATH.
func postgresPrograms() string {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return "/usr/lib/postgresql"
	}
	return found[len(found)-1]
}

// buildImages returns the images by name, without the version: the image of pingpost, and this machine's programs with
// the users and folders of the other images.
func buildImages(t *testing.T) map[string]image {
	t.Helper()
	own := t.TempDir()
	build := exec.CommandContext(t.Context(), "deploy/image/root", own)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the image: %v\n%s", err, out)
	}
	vault, err := devvault.Find(t.Context(), func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	const passwd = "root:x:0:0::/root:/bin/sh\npostgres:x:999:999::/:/bin/sh\n"
	return map[string]image{
		"pingpost": {
			files: own, user: 65532, command: []string{"/pingpost"},
			owners: map[string]uint32{"/var/lib/pingpost": 65532},
		},
		"postgres": {
			files: "/", passwd: passwd, signal: syscall.SIGINT,
			command: []string{"setpriv", "--reuid=999", "--regid=999", "--clear-groups", "env", "PGDATA=" + dataFolder,
				"sh", "-ec", startPostgres, "sh"},
			owners: map[string]uint32{dataFolder: 999},
		},
		"hashicorp/vault": {
			files: "/", mounts: []mount{{Source: vault, Target: "/programs/vault", ReadOnly: true}},
			user: 100, command: []string{"sh", "-c", `exec vault "$@" -config=/vault/config`, "sh"},
			owners: map[string]uint32{"/vault/file": 100},
		},
		"curlimages/curl": {files: "/"},
		"haproxy": {
			files: "/", user: 99, signal: syscall.SIGUSR1,
			command: []string{"haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"},
		},
		"prom/prometheus": {
			files: "/", user: 65534, command: []string{"prometheus"}, owners: map[string]uint32{"/prometheus": 65534},
		},
	}
}
