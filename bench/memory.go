package main

import (
	"context"
	"errors"
	"time"
)

const (
	maxResident = 120 // MB
	megabyte    = 1 << 20
	// memoryTimeout limits the time for sending the pings, in case the machine is slow.
	memoryTimeout = 3 * time.Minute
)

// memory measures how much memory a newly started service uses after many pings.
func (b *bench) memory(ctx context.Context) (err error) {
	p, err := b.stage.newProduct(ctx, "product_memory", productJob{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	r, err := sendPings(ctx, pingsJob{Address: p.at.Address, Count: b.plan.MemoryPings, For: memoryTimeout})
	if err != nil {
		return err
	}
	used, err := p.process.Usage()
	if err != nil {
		return err
	}
	if r.Count < b.plan.MemoryPings {
		b.progress("memory: only %d pings were answered within %s", r.Count, memoryTimeout)
	}
	if err := checkPings(ctx, p.database, p.at.Ops, r.Count); err != nil {
		return err
	}
	b.report.memory(used, r.Count)
	return nil
}
