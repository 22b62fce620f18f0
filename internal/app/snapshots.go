package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/snapshot"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	// snapshotLife is how old a snapshot may be to answer pings from.
	snapshotLife  = 24 * time.Hour
	snapshotEvery = time.Second
	// refreshAfter is when a snapshot is written again although nothing changed,
	// retryAfter when after a failure.
	refreshAfter = 10 * time.Minute
	retryAfter   = 10 * time.Second
)

// pingState is the content of the snapshot for restarts: what is needed to answer pings
// and to recognise an old primary.
type pingState struct {
	AsOf        time.Time // the database had it
	Timelines   []postgres.Timeline
	CardVersion int
	Card        pricingrules.Card
	Partners    partners.PingDirectory
}

// snapshots stores a pingState on disk; with a nil file it stores nothing.
type snapshots struct {
	file     *snapshot.File
	found    pingState // from before the start
	foundErr error

	restored time.Time    // AsOf of the snapshot in use; zero for none
	written  atomic.Int64 // AsOf of the last one written, as Unix time
	failures atomic.Int64
}

func newSnapshots(path string, keys *keyring.Keys) *snapshots {
	if path == "" {
		return &snapshots{}
	}
	return &snapshots{file: &snapshot.File{Path: path, Sealer: keys.For(keyring.Snapshot)}}
}

// readSnapshot reads the snapshot from before the start and returns its
// timelines, which count however old it is.
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
		a.log.Error("reading the snapshot for restarts failed", "error", cause(err).Error())
	}
	s.foundErr = err
	return s.found.Timelines
}

// serveFromSnapshot answers pings from the snapshot, if there is a usable one,
// while the database is away.
func (a *App) serveFromSnapshot(away error) {
	state := a.restoreSnapshot()
	log := a.log.With("error", away.Error(), "snapshot", state)
	if state != snapshotUsed {
		log.Error("waiting for the database: neither pings nor posts are served")
		return
	}
	log.Warn("waiting for the database: pings are answered from the snapshot, posts are not served", "as_of",
		a.snapshots.restored)
}

const snapshotUsed = "used"

// restoreSnapshot restores the snapshot and reports what became of it.
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
		a.log.Error("the rate card of the snapshot is not understood", "error", err.Error())
		return "not read"
	}
	a.card.Restore(card)
	a.directory.Restore(s.found.Partners.Directory())
	s.restored = s.found.AsOf
	return snapshotUsed
}

// expireSnapshot drops a restored snapshot that is too old.
func (a *App) expireSnapshot() {
	s := a.snapshots
	if a.loaded.Load() || s.restored.IsZero() || a.clock.Now().Sub(s.restored) <= snapshotLife {
		return
	}
	a.card.Restore(nil)
	a.directory.Restore(nil)
	s.restored = time.Time{}
	a.log.Error("waiting for the database: the snapshot is too old, pings are not served any longer")
}

// keepSnapshot writes the snapshot when what it holds changes, and every 10
// minutes while it is current, until ctx ends. A failure costs nothing but the
// pings of a restart.
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
					a.log.Error("the snapshot for restarts is not written: check the folder of database.snapshot_file",
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
