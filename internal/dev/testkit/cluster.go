package testkit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/migrations"
)

// A prepared cluster contains both database roles and the migrated template database. Creating one
// takes seconds, but copying it is fast, so test processes share one. It is in the user's cache
// folder, named after the digest of its sources.

// clusterSources are the files that a prepared cluster depends on, relative to this folder.
var clusterSources = []string{"../../../go.mod", "../../../migrations", "../devpg", "."}

// clusterKeptFor is how old a prepared cluster can be before it is removed from the cache.
const clusterKeptFor = 24 * time.Hour

// copyPreparedCluster copies the prepared cluster to an empty folder. It creates the cluster
// if it is missing.
func copyPreparedCluster(ctx context.Context, to string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	cache = filepath.Join(cache, "pingpost", "test-clusters")
	key, err := clusterKey()
	if err != nil {
		return err
	}
	prepared := filepath.Join(cache, key)
	if _, err := os.Stat(prepared); err != nil {
		if err := prepareCluster(ctx, cache, prepared); err != nil {
			return err
		}
	}
	return copyFolder(prepared, to)
}

// clusterKey returns the name of the prepared cluster, which is the digest of everything that the
// cluster depends on.
func clusterKey() (string, error) {
	_, here, _, _ := runtime.Caller(0)
	sum := sha256.New()
	for _, source := range clusterSources {
		root := filepath.Join(filepath.Dir(here), source)
		err := filepath.WalkDir(root, func(path string, file fs.DirEntry, err error) error {
			if err != nil || file.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			fmt.Fprintln(sum, file.Name(), len(content))
			sum.Write(content)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	// Include the month, because the template has the ledger's partitions for the current time.
	fmt.Fprintln(sum, os.Getenv("PINGPOST_POSTGRES_BIN"), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format("2006-01"))
	return hex.EncodeToString(sum.Sum(nil)[:12]), nil
}

// prepareCluster creates the prepared cluster. If several processes do so at the same time, only
// one of them saves its cluster.
func prepareCluster(ctx context.Context, cache, prepared string) error {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	if err := removeOldClusters(cache); err != nil {
		return err
	}
	made, err := os.MkdirTemp("", "pingpost-test-cluster-") // Postgres's user may not be able to read the cache
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	server, err := devpg.Start(ctx, devpg.Options{DataDir: made, ExtraSettings: sharedSettings()})
	if err != nil {
		return err
	}
	err = makeTemplate(ctx, server)
	if stopped := server.Stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	incoming, err := os.MkdirTemp(cache, "incoming-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(incoming)
	if err := copyFolder(made, incoming); err != nil {
		return err
	}
	if err := os.Rename(incoming, prepared); err != nil {
		_, missing := os.Stat(prepared) // nil if another process was first
		return missing
	}
	return nil
}

func removeOldClusters(cache string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // another process has removed it
		}
		if time.Since(info.ModTime()) > clusterKeptFor {
			if err := os.RemoveAll(filepath.Join(cache, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyFolder copies the contents of a folder. The copies have the same owners as the originals.
func copyFolder(from, to string) error {
	if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		return fmt.Errorf("copying the prepared cluster: %w: %s", err, out)
	}
	return nil
}

func makeTemplate(ctx context.Context, server *devpg.Server) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := server.Provision(ctx, templateName, passwords); err != nil {
		return err
	}
	owner, err := postgres.OpenOwner(server.URL(devpg.OwnerRole, passwords.Owner, templateName), connectTimeout)
	if err != nil {
		return err
	}
	defer owner.Close()
	if _, err = migrations.Up(ctx, owner); err != nil {
		return err
	}
	// Create partitions for the months around StartTime, and the ledger's partitions for this month and the
	// next one, because a month may end during the tests.
	for _, period := range []string{`'{leads, lead_keys, consents, lead_events}', 'month', '2025-12-01', '2026-02-01'`,
		`'` + ledgerTables + `', 'month', '2025-12-01', '2026-02-01'`, `'` + ledgerTables + `', 'month', now() - interval '1 day', now() + interval '32 days'`} {
		if _, err := owner.ExecContext(ctx, `SELECT create_partitions(`+period+`)`); err != nil {
			return err
		}
	}
	return nil
}
