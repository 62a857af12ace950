package main

import (
	"context"
	"strconv"
	"time"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// slowVariable in its environment makes the command the plugin of a host that it
// measures; its value is how many commits it does at once.
const slowVariable = "AUTHZ_BENCH_SLOW"

// serveSlow serves the memory driver on a machine that does so many commits at once, each
// in 25 ms.
func serveSlow(atOnce string) {
	n, err := strconv.Atoi(atOnce)
	if err != nil || n < 1 {
		panic(slowVariable + "=" + atOnce)
	}
	p := memory.Plugin("bench")
	configure := p.Storage.Configure
	p.Storage.Configure = func(ctx context.Context, settings map[string]any) (storage.Driver, error) {
		d, err := configure(ctx, settings)
		return &slowDriver{Driver: d, turns: make(chan struct{}, n)}, err
	}
	plugin.Serve(p)
}

type slowDriver struct {
	storage.Driver
	turns chan struct{}
}

func (d *slowDriver) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	return slowStore{s, d}, err
}

type slowStore struct {
	storage.Store
	driver *slowDriver
}

func (s slowStore) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	s.driver.turns <- struct{}{}
	defer func() { <-s.driver.turns }()
	time.Sleep(25 * time.Millisecond)
	return s.Store.Commit(ctx, c)
}
