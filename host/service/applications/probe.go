package applications

import (
	"context"
	"sync"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
)

// Unverified is the health of what was not probed since it was linked.
const Unverified = "unverified"

// Health is what a probe found (spec: hosted-api §7). The members of ping are nil
// when there was no answer; Detail is one of a fixed set of words.
type Health struct {
	Status      string  `json:"status"`
	CheckedAt   *int64  `json:"checkedAt"`
	LatencyMs   *int64  `json:"latencyMs"`
	API         *int    `json:"api"`
	Application *string `json:"application"`
	OrgRoot     *bool   `json:"orgRoot"`
	HasEventLog *bool   `json:"hasEpoch"`
	AuditOptIn  *bool   `json:"auditOptIn"`
	Detail      *string `json:"detail"`
}

// healths are records of their own: what a host notes in passing changes no entry.
var healths = account.Collection[Health]{Name: "application_health"}

func (e *Entries) lastHealth(ctx context.Context, org, id string) (Health, error) {
	row, found, err := healths.Get(ctx, e.store, org, id)
	if err == nil && !found {
		return Health{Status: Unverified}, nil
	}
	return row.Value, err
}

func (e *Entries) deleteHealth(ctx context.Context, tx *account.Tx, org, id string) error {
	row, found, err := healths.Get(ctx, e.store, org, id)
	if err == nil && found {
		healths.Delete(tx, org, id, row.Version)
	}
	return err
}

// maxEcho bounds what is kept of an application's own text.
const maxEcho = 120

// Probe asks a linked application who it is, and keeps the answer; bad health is
// no error. application_not_found, not_linked.
func (e *Entries) Probe(ctx context.Context, org, id string) (Health, error) {
	row, err := e.get(ctx, org, id)
	if err != nil {
		return Health{}, err
	}
	asked, err := e.ask(ctx, org, row)
	if err != nil {
		return Health{}, err
	}
	before := e.store.Now(ctx)
	start := time.Now()
	ping, err := asked.Relay.Ping(relay.Probing(ctx))
	took := time.Since(start).Milliseconds()
	if ctx.Err() != nil {
		return Health{}, fault.Internal(ctx.Err()) // who left learned nothing of the application
	}
	h := Health{CheckedAt: &before, LatencyMs: &took}
	if err == nil {
		name := cut(ping.Application)
		h.API, h.Application, h.OrgRoot, h.HasEventLog, h.AuditOptIn = &ping.API, &name, &ping.OrgRoot, &ping.HasEventLog, &ping.AuditOptIn
		err = relay.CheckPing(ping, id)
	}
	var detail string
	if h.Status, detail = relay.Health(err); detail != "" {
		h.Detail = &detail
	}
	return h, e.keepHealth(ctx, org, id, row.Value.Link, h)
}

// keepHealth writes what was found unless the link has changed meanwhile, or
// another host has found something as well.
func (e *Entries) keepHealth(ctx context.Context, org, id, link string, h Health) error {
	row, err := e.get(ctx, org, id)
	if err != nil {
		return err
	}
	last, _, err := healths.Get(ctx, e.store, org, id)
	if err != nil {
		return err
	}
	if !row.Value.Reachable() || row.Value.Link != link {
		return nil
	}
	tx := e.store.Begin(ctx)
	entries.Require(tx, org, id, row.Version)
	healths.Put(tx, org, id, h, last.Version)
	if row.Value.State == Federated && h.OrgRoot != nil && *h.OrgRoot {
		if err := e.resync(ctx, tx, org, id); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil && err != error(account.ErrMoved) {
		return err
	}
	return nil
}

func cut(text string) string {
	if runes := []rune(text); len(runes) > maxEcho {
		return string(runes[:maxEcho])
	}
	return text
}

// probeEvery is how old a health may be, in milliseconds; whichever host comes by
// then probes. slowProbe is that of linked applications over their cap.
const (
	probeEvery  = 60_000
	slowProbe   = 600_000
	probeAtOnce = 8
)

// ProbeDue probes the org's linked applications whose health is a minute old, over the
// cap of linked applications ten. The error is of the account data; bad health is none.
func (e *Entries) ProbeDue(ctx context.Context, org string) error {
	all, err := e.all(ctx, org)
	if err != nil {
		return err
	}
	every, err := e.probesEvery(ctx, org)
	if err != nil {
		return err
	}
	var probes sync.WaitGroup
	slots := make(chan struct{}, probeAtOnce)
	for _, row := range all {
		if !row.Value.Reachable() {
			continue
		}
		last, err := e.lastHealth(ctx, org, row.ID)
		if err != nil {
			return err
		}
		if last.CheckedAt != nil && e.store.Now(ctx)-*last.CheckedAt < every(row.Value.State) {
			continue
		}
		probes.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			// What fails shows in the health that was not renewed.
			_, _ = e.Probe(ctx, org, row.ID)
		})
	}
	probes.Wait()
	return nil
}

func (e *Entries) probesEvery(ctx context.Context, org string) (func(State) int64, error) {
	d, err := e.meters.Read(ctx, org, billing.LinkedApplications)
	return func(s State) int64 {
		if s == Linked && d.State != billing.Under {
			return slowProbe
		}
		return probeEvery
	}, err
}

// resync has the next sync push to a member whatever it received last: one that calls
// itself the org root forgot it, as one does that is restored.
func (e *Entries) resync(ctx context.Context, tx *account.Tx, org, id string) error {
	last, found, err := Syncs.Get(ctx, e.store, org, id)
	if err == nil && found {
		Syncs.Put(tx, org, id, Synced{}, last.Version)
	}
	return err
}
