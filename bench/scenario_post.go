package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"text/template"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/models"
)

// steadyPosts is the rate, in posts per second, at which latencies are measured.
const steadyPosts = 1000

func postScenario() *scenario {
	const p99, best = "99th percentile of posts at 1,000 per second", ", best number of connections"
	return &scenario{
		name: "post", title: "Post", rounds: 5, length: 3 * time.Second, prepare: preparePosts,
		text: `Each program has its own database on the same Postgres, with the same schema, and connects with the same
			role.

			**Product:** the whole service over HTTP. Each post is signed, is 1 to 2 KiB long and has its own transactionId.
			The posts have eight disclosure texts, which the database has had since the day before. They are prepared and
			signed in advance, with sealed quotes that the service accepts. The key wrapper is the local key. **With Vault,**
			a real Vault on the same cores wraps the data keys in batches.

			**pgbench:** ¬-M prepared -j 2¬, one transaction for each lead: BEGIN, five INSERTs with the values of a lead of
			average size that the product has stored, COMMIT. Identifiers come from ¬gen_random_uuid()¬, but start with the
			time, as the product's do. pgbench parses no requests, checks no signatures and encrypts nothing. **GORM:** the
			same rows from one process, each lead in a transaction with five ¬Create¬s, with prepared statements.

			**Number of connections:** 64, unless the figure says otherwise. To find the best number, pgbench and GORM are
			tried with 8, 16, 32 and 64 connections before the rounds, and the product with 64, 128 and 256.

			**Replays:** one post in 20 is a byte-for-byte replay of an earlier one. **Rejections:** the database rejects the
			row of one post in 100, and the batch of posts in the same transaction is halved repeatedly until that row is
			found. **Separate transactions:** a variant of the product that stores each post in its own transaction.`,
		figures: []*figure{
			ratio("product"+best+" / pgbench -c 64", "product"+best, "pgbench", turn.rate).atLeast(3),
			ratio("product / pgbench"+best+" each", "product"+best, "pgbench"+best, turn.rate).atLeast(2.2),
			ratio("product / GORM storing the same rows"+best+" each", "product"+best, "GORM"+best, turn.rate).atLeast(4),
			ratio("product with Vault / product with the local key", "with Vault", "product", turn.rate).atLeast(0.75),
			ratio("one post in 20 is a replay / no replays", "replays", "product", turn.rate).atLeast(0.85),
			ratio("the database rejects one post in 100 / no rejections", "rejections", "product", turn.rate).atLeast(0.5),
			ratio(p99+", shared transactions / separate transactions", "shared", "separate", turn.p99Micros).atMost(1.25),
			ratio("product / pgbench, 64 connections each", "product", "pgbench", turn.rate),
			absolute("product", "product", turn.rate, "leads per second"),
			absolute("product"+best, "product"+best, turn.rate, "leads per second"),
			absolute("product with Vault", "with Vault", turn.rate, "leads per second"),
			absolute("pgbench -c 64", "pgbench", turn.rate, "leads per second"),
			absolute("pgbench"+best, "pgbench"+best, turn.rate, "leads per second"),
			absolute("GORM"+best, "GORM"+best, turn.rate, "leads per second"),
			absolute(p99+", shared transactions", "shared", turn.p99Micros, "µs"),
			absolute(p99+", separate transactions", "separate", turn.p99Micros, "µs"),
		},
	}
}

func preparePosts(ctx context.Context, l *lab) ([]contender, error) {
	p, err := l.newProduct(ctx, "product_posts", productJob{})
	if err != nil {
		return nil, err
	}
	withVault, _, err := l.newVaultProduct(ctx, "product_vault")
	if err != nil {
		return nil, err
	}
	separate, err := l.newProduct(ctx, "product_separate", productJob{SinglePosts: true})
	if err != nil {
		return nil, err
	}
	// The database rejects these rows although the service considers the posts valid, as if it had a bug.
	constraint := `ALTER TABLE leads ADD CONSTRAINT bench_bad CHECK (postcode <> '` + badPostcode + `') NOT VALID`
	if err := p.exec(ctx, constraint); err != nil {
		return nil, err
	}
	bestProduct, err := l.fastest(ctx, []int{64, 128, 256}, func(connections int) contender {
		return p.sendsPosts("product, best number of connections", loadJob{Connections: connections})
	})
	if err != nil {
		return nil, err
	}
	baselines, err := l.postBaselines(ctx, p)
	if err != nil {
		return nil, err
	}
	replays, bad := p.poster, p.poster
	replays.Replays, bad.Bad = 20, 100
	return append(baselines, bestProduct,
		p.sendsPosts("product", loadJob{}),
		withVault.sendsPosts("with Vault", loadJob{}),
		p.sendsPosts("replays", loadJob{Posts: &replays}),
		p.sendsPosts("rejections", loadJob{Posts: &bad, Rejections: 0.02}),
		p.sendsPosts("shared", loadJob{Rate: steadyPosts}),
		separate.sendsPosts("separate", loadJob{Rate: steadyPosts}),
	), nil
}

// postBaselines returns pgbench and GORM, which store leads like one that the product has stored.
func (l *lab) postBaselines(ctx context.Context, p *product) ([]contender, error) {
	lead, err := readStoredLead(p.db.Gorm.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	var databases [3]*database
	for i := range databases {
		if databases[i], err = l.newDatabase(ctx, fmt.Sprintf("baseline_%d", i)); err != nil {
			return nil, err
		}
		l.check(databases[i].checkLeads)
	}
	connections := []int{8, 16, 32, 64}
	bestGorm, err := l.fastest(ctx, connections, func(n int) contender {
		return gormPosts("GORM, best number of connections", databases[0], lead, n)
	})
	if err != nil {
		return nil, err
	}
	program, err := l.findPgbench(ctx)
	if err != nil {
		return nil, err
	}
	script, err := l.writeScript(lead)
	if err != nil {
		return nil, err
	}
	pgbench := func(name string, d *database, n int) contender {
		return contender{name: name, run: func(ctx context.Context, length time.Duration) (turn, error) {
			return l.runPgbench(ctx, d, program, script, n, length)
		}}
	}
	bestPgbench, err := l.fastest(ctx, connections, func(n int) contender {
		return pgbench("pgbench, best number of connections", databases[1], n)
	})
	return []contender{bestGorm, bestPgbench, pgbench("pgbench", databases[2], 64)}, err
}

// storedLead contains the rows of a lead that the product has stored.
type storedLead struct {
	Lead    models.Lead
	Key     models.LeadKey
	Consent models.Consent
	Entry   models.LedgerEntry
	Event   models.LeadEvent
}

// readStoredLead reads the lead whose contact record is closest to the average size.
func readStoredLead(db *gorm.DB) (s storedLead, err error) {
	err = db.Raw(`SELECT * FROM leads ORDER BY abs(length(ciphertext) - (SELECT avg(length(ciphertext)) FROM leads))
		LIMIT 1`).Scan(&s.Lead).Error
	if err != nil {
		return s, err
	}
	for _, row := range []any{&s.Key, &s.Consent, &s.Entry, &s.Event} {
		if err := db.Where("lead_id = ?", s.Lead.ID).Take(row).Error; err != nil {
			return s, err
		}
	}
	return s, nil
}

// gormPosts returns a contender that stores leads with GORM in this process.
func gormPosts(name string, d *database, lead storedLead, connections int) contender {
	return contender{name: name, run: func(ctx context.Context, length time.Duration) (t turn, err error) {
		db, pool, err := openGorm(d.url, false, connections)
		if err != nil {
			return t, err
		}
		defer pool.Close()
		start := now()
		var stored atomic.Int64
		all, ctx := errgroup.WithContext(ctx)
		for range connections {
			all.Go(func() error {
				for now().Sub(start) < length {
					if err := lead.storeCopy(db.WithContext(ctx)); err != nil {
						return err
					}
					stored.Add(1)
				}
				return nil
			})
		}
		err = all.Wait()
		d.acknowledged += stored.Load()
		return turn{count: stored.Load(), elapsed: now().Sub(start)}, err
	}}
}

// storeCopy stores a copy of the lead with a new ID and new digests.
func (s storedLead) storeCopy(db *gorm.DB) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	at := now()
	s.Lead.ID, s.Lead.AttemptID, s.Lead.PartnerReference = id, uuid.New(), uuid.NewString()
	s.Lead.QuotedAt, s.Lead.ReceivedAt = at, at
	s.Lead.EmailDigest, s.Lead.PhoneDigest = append(newKey(), 0, 0, 0, 0), append(newKey(), 0, 0, 0, 0)
	s.Key.LeadID = id
	s.Consent.LeadID, s.Consent.AcknowledgedAt, s.Consent.ReceivedAt = id, &at, at
	s.Entry.ID, s.Entry.LeadID, s.Entry.OccurredAt = 0, &id, at
	s.Event.ID, s.Event.LeadID, s.Event.At = 0, id, at
	return db.Transaction(func(tx *gorm.DB) error {
		for _, row := range []any{&s.Lead, &s.Key, &s.Consent, &s.Entry, &s.Event} {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
		}
		return nil
	})
}

//go:embed post.sql.tmpl
var postScript string

// writeScript writes a script for pgbench that stores a copy of the lead.
func (l *lab) writeScript(lead storedLead) (path string, err error) {
	script, err := template.New("post.sql").Funcs(template.FuncMap{"hex": hex.EncodeToString}).Parse(postScript)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := script.Execute(&text, lead); err != nil {
		return "", err
	}
	path = filepath.Join(l.folder, "post.sql")
	return path, os.WriteFile(path, text.Bytes(), 0o600)
}

// findPgbench returns the path of pgbench, which is in the program folder of the running server or on PATH.
func (l *lab) findPgbench(ctx context.Context) (string, error) {
	var folder string
	err := l.root.QueryRow(ctx, `SELECT setting FROM pg_config WHERE name = 'BINDIR'`).Scan(&folder)
	if path, found := exec.LookPath(filepath.Join(folder, "pgbench")); err == nil && found == nil {
		return path, nil
	}
	return exec.LookPath("pgbench")
}

var pgbenchResult = regexp.MustCompile(`(?s)actually processed: ([1-9]\d*)\n.*tps = ([0-9.]+) \(without`)

// runPgbench runs pgbench with prepared statements. The time that pgbench needs to connect is part of its running time,
// but not of the time from which it computes its rate. If connecting used up the running time, pgbench runs again for
// twice as long.
func (l *lab) runPgbench(
	ctx context.Context, d *database, program, script string, clients int, length time.Duration,
) (turn, error) {
	target := fmt.Sprintf("host=127.0.0.1 port=%d dbname=%s user=%s sslmode=disable",
		l.server.Port(), d.name, devpg.AppRole)
	var result [][]byte
	for seconds := int(length.Round(time.Second).Seconds()) + 1; result == nil; seconds *= 2 {
		if seconds > 100 {
			return turn{}, errors.New("pgbench stores nothing, however much time it has")
		}
		cmd := exec.CommandContext(ctx, program, "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2",
			"-T", strconv.Itoa(seconds), "-f", script, target)
		cmd.Env = append(os.Environ(), "PGPASSWORD="+passwords.App)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return turn{}, fmt.Errorf("pgbench: %w: %s", err, out)
		}
		result = pgbenchResult.FindSubmatch(out)
	}
	n, countErr := strconv.ParseInt(string(result[1]), 10, 64)
	rate, rateErr := strconv.ParseFloat(string(result[2]), 64)
	d.acknowledged += n
	t := turn{count: n, elapsed: time.Duration(float64(n) / rate * float64(time.Second))}
	return t, errors.Join(countErr, rateErr)
}
