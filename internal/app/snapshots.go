package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	// snapshotLife is the maximum age of a snapshot that a node uses to answer pings.
	snapshotLife  = 24 * time.Hour
	snapshotEvery = time.Second
	// refreshAfter is the time after which the snapshot file is written again even if the snapshot has
	// not changed.
	refreshAfter = 10 * time.Minute
	// retryAfter is the time between a failed attempt to write the snapshot and the next attempt.
	retryAfter = 10 * time.Second
)

// pingState is the content of the snapshot file. It contains the data that a node needs to answer pings,
// and to recognise a database server that is no longer the primary.
type pingState struct {
	AsOf        time.Time // when the data was current
	Timelines   []postgres.Timeline
	CardVersion int
	Card        pricingrules.Card
	Partners    partners.PingDirectory
}

// snapshots reads and writes the snapshot file. If no file is configured, it does nothing.
type snapshots struct {
	file     *snapshot.File
	found    pingState // read when the node starts
	foundErr error

	restored time.Time    // AsOf of the restored snapshot; zero if none was restored
	written  atomic.Int64 // AsOf of the last written snapshot, as Unix time
	failures atomic.Int64
}

func newSnapshots(path string, keys *keyring.Keys) *snapshots {
	if path == "" {
		return &snapshots{}
	}
	return &snapshots{file: &snapshot.File{Path: path, Sealer: keys.For(keyring.Snapshot)}}
}

// readSnapshot reads the snapshot file and returns the Postgres timelines in it. The timelines are valid
// regardless of the snapshot's age.
func (a *App) readSnapshot() []postgres.Timeline {
	s := a.snapshots
	if s.file == nil {
		s.foundErr = fs.ErrNotExist
		return nil
	}
	text, err := s.file.Read()
	if err == nil {
		err = json.Unmarshal(text, &s.found)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.log.Error("cannot read the snapshot file", "error", cause(err).Error())
	}
	s.foundErr = err
	return s.found.Timelines
}

// serveFromSnapshot restores the snapshot, if it is usable, so that the node can answer pings while the
// database is unavailable.
func (a *App) serveFromSnapshot(unavailable error) {
	state := a.restoreSnapshot()
	log := a.log.With("error", unavailable.Error(), "snapshot", state)
	if state != snapshotUsed {
		log.Error("waiting for the database; pings and posts are not served")
		return
	}
	log.Warn("waiting for the database; pings are answered from the snapshot file, posts are not served", "as_of",
		a.snapshots.restored)
}

const snapshotUsed = "used"

// restoreSnapshot restores the snapshot and returns snapshotUsed, or the reason why the
// snapshot cannot be used.
func (a *App) restoreSnapshot() string {
	s := a.snapshots
	age := a.clock.Now().Sub(s.found.AsOf)
	switch {
	case errors.Is(s.foundErr, fs.ErrNotExist):
		return "none"
	case s.foundErr != nil:
		return "not read"
	case age > snapshotLife || age < -maxSkew:
		return "not current"
	}
	card, err := a.prices.CompileVersion(s.found.CardVersion, s.found.Card)
	if err != nil {
		a.log.Error("cannot compile the rate card in the snapshot file", "error", err.Error())
		return "not read"
	}
	a.card.Restore(card)
	a.directory.Restore(s.found.Partners.Directory())
	s.restored = s.found.AsOf
	return snapshotUsed
}

// expireSnapshot drops a restored snapshot that is too old. The node then stops answering pings.
func (a *App) expireSnapshot() {
	s := a.snapshots
	if a.loaded.Load() || s.restored.IsZero() || a.clock.Now().Sub(s.restored) <= snapshotLife {
		return
	}
	a.card.Restore(nil)
	a.directory.Restore(nil)
	s.restored = time.Time{}
	a.log.Error("waiting for the database; the snapshot is now too old, so pings are no longer served")
}

// keepSnapshot writes the snapshot file whenever the snapshot changes, and at least every 10 minutes. It
// does not write the file while the data in memory may be out of date.
func (a *App) keepSnapshot(ctx context.Context) {
	s := a.snapshots
	if s.file == nil {
		return
	}
	tick := time.NewTicker(snapshotEvery)
	defer tick.Stop()
	var last struct {
		directory *partners.Directory
		card      *ratecard.CompiledVersion
		timelines []postgres.Timeline
		at        time.Time
	}
	pause, failing := time.Duration(0), false
	for {
		now, directory, card, timelines := a.clock.Now(), a.directory.Get(), a.card.Get(), a.db.Timelines()
		changed := directory != last.directory || card != last.card || !slices.Equal(timelines, last.timelines) ||
			now.Sub(last.at) >= refreshAfter
		if a.watcher.Current() && changed && pause <= 0 {
			err := s.write(pingState{now, timelines, card.Version, card.Card, directory.Excerpt()})
			if err != nil {
				pause = retryAfter
				if !failing {
					a.log.Error("cannot write the snapshot file: check the folder of database.snapshot_file",
						"error", cause(err).Error())
				}
			} else {
				last.directory, last.card, last.timelines, last.at = directory, card, timelines, now
			}
			failing = err != nil
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			pause -= snapshotEvery
		}
	}
}

func (s *snapshots) write(state pingState) error {
	text, err := json.Marshal(state)
	if err == nil {
		err = s.file.Write(text)
	}
	if err != nil {
		s.failures.Add(1)
		return err
	}
	s.written.Store(state.AsOf.Unix())
	return nil
}
