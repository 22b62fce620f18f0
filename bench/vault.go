package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
)

const (
	minVaultToLocal      = 0.75
	minRewrappingToAlone = 0.8
)

// vaulted is a product that uses its own Vault server.
type vaulted struct {
	*product
	vault *devvault.Server
	roles map[string]devvault.Identity
}

func (b *bench) newVaulted(ctx context.Context) (_ *vaulted, err error) {
	program, err := devvault.Find(ctx, func(text string) { b.progress("%s", text) })
	if err != nil {
		return nil, err
	}
	v := &vaulted{}
	if v.vault, err = devvault.Start(ctx, program, io.Discard); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.stop())
		}
	}()
	if v.roles, err = v.vault.Provision(ctx, ""); err != nil {
		return nil, err
	}
	serve := v.roles[devvault.Serve]
	if v.product, err = b.stage.newProduct(ctx, "product_vault_posts", productJob{Vault: vaultLogin{v.vault.Address, serve.RoleID, serve.SecretID}}); err != nil {
		return nil, err
	}
	err = v.durable(ctx)
	return v, err
}

func (v *vaulted) stop() error {
	var err error
	if v.product != nil {
		err = v.product.stop()
	}
	return errors.Join(err, v.vault.Stop())
}

func (v *vaulted) contender(name string, run func(context.Context, time.Duration) (round, error)) *subject {
	return &subject{name: name, process: v.process, beside: v.vault.ID(), run: run}
}

// as returns a key wrapper that logs in to Vault with the given role.
func (v *vaulted) as(role string) (*transit.Wrapper, error) {
	return transit.New(transit.Options{
		Address: v.vault.Address,
		Mount:   devvault.Mount,
		Key:     devvault.Key,
		Timeout: 5 * time.Second,
		Clock:   clock.System{},
		Login: transit.Login{
			Method:   transit.AppRole,
			Mount:    devvault.AuthMount,
			RoleID:   v.roles[role].RoleID,
			SecretID: v.roles[role].SecretID,
		},
	})
}

// rewraps measures how much a rewrap of all leads slows down posts.
func (b *bench) rewraps(ctx context.Context, v *vaulted) error {
	if err := b.fill(ctx, v); err != nil {
		return err
	}
	rotation, err := v.as(devvault.Rotate)
	if err != nil {
		return err
	}
	if err := rotation.Rotate(ctx); err != nil {
		return err
	}
	key, err := v.as(devvault.Rewrap)
	if err != nil {
		return err
	}
	db, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	move := &leads.KeyRotation{
		Leads:      leads.NewStore(db.Pool),
		Wrappers:   envelope.NewWrappers(key),
		Clock:      clock.System{},
		OnProgress: func(leads.RotationProgress) {},
	}

	var through bool // all leads have been rewrapped
	var moved []float64
	alone := v.contender("nothing moves", v.deliver)
	moving := v.contender("during a rewrap", func(ctx context.Context, length time.Duration) (round, error) {
		start := clock.System{}.Now()
		r, done, ended, err := v.deliverBeside(ctx, length, move)
		through = ended
		moved = append(moved, float64(done.Leads)/clock.System{}.Now().Sub(start).Seconds())
		return r, err
	})
	for n := 1; n <= b.plan.RewrapRounds; n++ {
		without, err := b.measureWhenIdle(ctx, alone, b.plan.PostRound)
		if err != nil {
			return err
		}
		beside, err := b.measureWhenIdle(ctx, moving, b.plan.PostRound)
		if err != nil {
			return err
		}
		if through && n > 1 {
			break // the rewrap ended during this round, so the round does not count
		}
		alone.rounds, moving.rounds = append(alone.rounds, without), append(moving.rounds, beside)
		b.progress("rewrap %d: %.0f posts per second alone, %.0f during a rewrap", n, without.rate(), beside.rate())
	}
	b.report.rewraps(alone, moving, moved)
	return nil
}

// fill sends posts until the product has stored plan.RewrapLeads leads.
func (b *bench) fill(ctx context.Context, v *vaulted) error {
	for {
		var stored int
		if err := v.root.QueryRow(ctx, `SELECT count(*) FROM leads`).Scan(&stored); err != nil {
			return err
		}
		if stored >= b.plan.RewrapLeads {
			return nil
		}
		if _, err := v.deliver(ctx, b.plan.PostRound); err != nil {
			return err
		}
	}
}

// deliverBeside sends posts while leads are rewrapped. The result ended reports whether the rewrap
// finished before all posts were sent.
func (v *vaulted) deliverBeside(
	ctx context.Context, length time.Duration, move *leads.KeyRotation,
) (r round, done leads.RotationProgress, ended bool, err error) {
	during, stop := context.WithCancel(ctx)
	defer stop()
	result := make(chan error, 1)
	go func() {
		var err error
		done, err = move.Rewrap(during)
		result <- err
	}()
	r, err = v.deliver(ctx, length)
	stop()
	failed := <-result
	if done.Failed > 0 {
		failed = fmt.Errorf("%d leads were not rewrapped: %w", done.Failed, done.Cause)
	}
	if errors.Is(failed, context.Canceled) {
		return r, done, false, err
	}
	return r, done, true, errors.Join(err, failed)
}
