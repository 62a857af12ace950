// Command broken serves a storage driver that forgets the last event of every
// commit.
package main

import (
	"context"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

func main() {
	p := memory.Plugin("broken")
	p.Name = "broken"
	p.ConfigSchema = []plugin.Setting{
		{Name: "path", Type: plugin.TypeString, Description: "ignored"},
		{Name: "password", Type: plugin.TypeString, Secret: true, Description: "ignored"},
	}
	p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) {
		return driver{memory.New(memory.Options{})}, nil
	}
	plugin.Serve(p)
}

type driver struct{ storage.Driver }

func (d driver) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	if err != nil {
		return nil, err
	}
	return store{s}, nil
}

type store struct{ storage.Store }

func (s store) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if n := len(c.Events); n > 0 {
		c.Events = c.Events[:n-1]
	}
	return s.Store.Commit(ctx, c)
}
