package host

import (
	"context"
	"errors"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/storage"
)

// FlushUsage stores what was counted until now, and tells it to the sinks.
func (a *Application) FlushUsage(ctx context.Context) error {
	err := a.counts.Flush(ctx)
	for _, f := range a.counts.forwarders {
		err = errors.Join(err, f.Flush(ctx))
	}
	return err
}

// OtherHost is the application as another host over the same store has it.
func (a *Application) OtherHost(ctx context.Context) (*application.Application, error) {
	return application.New(ctx, a.options)
}

// Store is where the rows of the application lie, behind its plugin.
func (a *Application) Store() storage.Store { return a.store }

// Configuration is what the host runs with.
func (h *Host) Configuration() *config.Config { return h.config.Load() }

// DoDuties does what the hosted service does by itself, now.
func (h *Host) DoDuties(ctx context.Context) error {
	var failed error
	for _, duty := range h.service.duties() {
		failed = errors.Join(failed, duty.do(ctx))
	}
	return failed
}
