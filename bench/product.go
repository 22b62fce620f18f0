package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/bench/sample"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/models"
)

// product is the whole service, which runs in a separate process and has its own database.
type product struct {
	*database
	process *child.Process
	at      listening
	partner sample.Partner
	keys    *keyring.Keys
	kek     []byte

	fastestPosts int
	answered     int64 // pings answered in all turns
}

// partnerSlug is the slug of the partner that sends the pings and posts.
const partnerSlug = "harbour-leads"

// newProduct creates a database with one approved partner and starts the service with the given options.
// The service uses the local key unless the options name a Vault server.
func (s *stage) newProduct(ctx context.Context, name string, job productJob) (_ *product, err error) {
	p := &product{kek: newKey(), fastestPosts: s.fastestPosts}
	if p.database, err = s.newDatabase(ctx, name); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	platform := newKey()
	if p.keys, err = keyring.NewKeys([][]byte{platform}); err != nil {
		return nil, err
	}
	if err := p.admit(ctx); err != nil {
		return nil, fmt.Errorf("creating the measured partner: %w", err)
	}
	job.DatabaseURL, job.PlatformKey, job.LocalKEK, job.Log = p.appURL, encode(platform), encode(p.kek), filepath.Join(s.folder, name+".log")
	if p.process, err = child.Start(ctx, roleProduct, job); err != nil {
		return nil, err
	}
	return p, p.process.Receive(&p.at)
}

// standardDisclosure stores a standard text that was first used yesterday.
const standardDisclosure = `INSERT INTO disclosures (digest, text, partner_id, first_used_at, standard) VALUES (sha256(convert_to($1, 'UTF8')), $1, $2, $3, true)`

// admit creates the approved partner that sends the pings and posts, with an account and a signing
// secret.
func (p *product) admit(ctx context.Context) error {
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	service := partners.NewService(db, p.keys, clock.System{})
	row, err := service.Create(ctx, partners.NewPartner{
		Slug:    partnerSlug,
		Name:    "Harbour Leads",
		Signing: models.SigningRequired,
	})
	if err != nil {
		return err
	}
	if _, err := service.CreateAccount(ctx, scope.System, row, partners.NewAccount{Identifier: partnerSlug}); err != nil {
		return err
	}
	secret, err := service.CreateSecret(ctx, scope.System, row, "")
	if err != nil {
		return err
	}
	p.partner = sample.Partner{ID: row.ID, Slug: partnerSlug, Secret: secret.Plain}
	for _, text := range sample.Disclosures {
		if _, err := p.root.Exec(ctx, standardDisclosure, text, row.ID, clock.System{}.Now().AddDate(0, 0, -1)); err != nil {
			return err
		}
	}
	return service.SetStatus(ctx, scope.System, row.ID, models.PartnerApproved)
}

func (p *product) stop() error {
	var err error
	if p.process != nil {
		err = p.process.Stop()
	}
	return errors.Join(err, p.close())
}

func newKey() []byte {
	key := make([]byte, keyring.KeySize)
	rand.Read(key)
	return key
}

func encode(key []byte) string { return base64.StdEncoding.EncodeToString(key) }
