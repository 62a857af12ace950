package retention

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/sdk/authz"
)

// Applications is what retention asks of the org's applications.
type Applications interface {
	// Linked is the way to an application: application_not_found, not_linked.
	Linked(ctx context.Context, org, id string) (applications.Asked, error)

	// AllLinked are the ways to all of them.
	AllLinked(ctx context.Context, org string) ([]applications.Asked, error)
}

// Options of Retention; Store, Applications and Meters are required.
type Options struct {
	Store        *account.Store
	Applications Applications
	Meters       *billing.Meters
	Logger       hclog.Logger  // nil is silent
	RunTime      time.Duration // after how long a run ends; 0 is DefaultRunTime
}

// DefaultRunTime is after how long a run ends that has read a page. The next one goes
// on.
const DefaultRunTime = 12 * time.Second

// Retention ingests and reads audit events. Its methods return *fault.Error and
// are safe for concurrent use.
type Retention struct {
	store        *account.Store
	applications Applications
	meters       *billing.Meters
	log          hclog.Logger
	runTime      time.Duration
}

// New makes retention over the account data.
func New(o Options) *Retention {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.RunTime == 0 {
		o.RunTime = DefaultRunTime
	}
	return &Retention{store: o.Store, applications: o.Applications, meters: o.Meters, log: o.Logger, runTime: o.RunTime}
}

// Integrity says whether an application's log is what it was.
type Integrity string

// What a run of ingest found.
const (
	Intact   Integrity = "ok"
	Mismatch Integrity = "mismatch"
)

// Result answers an ingest. UpTo is the cursor, nil before the first event. More:
// the run ended before the log did. Paused names why nothing more is taken.
type Result struct {
	Ingested   int64              `json:"ingested"`
	Duplicates int64              `json:"duplicates"`
	UpTo       *authz.AuditCursor `json:"upTo"`
	More       bool               `json:"more"`
	Paused     *string            `json:"paused"`
	Integrity  Integrity          `json:"integrity"`
}

// progress is how far an application's log is ingested, and when the last run
// ended. Left is where the next one goes on, nil when it begins before Cursor.
type progress struct {
	Cursor *authz.AuditCursor `json:"cursor"`
	RanAt  int64              `json:"ranAt"`
	Left   *place             `json:"left,omitempty"`
}

// place is after an entry of a log, whose hash the next one names.
type place struct {
	authz.AuditCursor
	Hash string `json:"hash"`
}

// goesOn says whether a run at now goes on where the last one ended. After a rest it
// does not: what was filed behind that place meanwhile could lie before a later overlap.
func (p progress) goesOn(now int64) bool { return p.Left != nil && now-p.RanAt < dueAfter }

var ingests = account.Collection[progress]{Name: "ingests"}

const (
	pageSize  = 1000
	overlap   = int64(10 * time.Minute / time.Millisecond) // hosts whose clocks differ file behind the cursor
	dueAfter  = int64(5 * time.Minute / time.Millisecond)
	dueAtOnce = 4
)

// Ingest copies what is new in an application's audit log: application_not_found,
// not_linked, retention_off, audit_stream_off, relay errors. actor is who asked,
// "" for the host's own duty, which the account log does not mention.
func (r *Retention) Ingest(ctx context.Context, actor, org, application string) (Result, error) {
	// A repeat ingests what is there by then; what is there already it passes over.
	ctx = account.WithWork(ctx, nil)
	asked, err := r.open(ctx, org, application)
	if err != nil {
		return Result{}, err
	}
	ping, err := asked.Relay.Ping(ctx)
	if err == nil {
		err = relay.CheckPing(ping, application)
	}
	if err != nil {
		return Result{}, err
	}
	if !ping.AuditOptIn {
		return Result{}, fault.Cloud("audit_stream_off", "the application %s does not stream its audit log", application)
	}
	run := run{Retention: r, org: org, application: application, asked: asked, until: time.Now().Add(r.runTime),
		result: Result{Integrity: Intact}}
	err = r.store.Exclusive(ctx, section(org, application), func(ctx context.Context) error { return run.all(ctx, actor) })
	return run.result, err
}

// open is the way to an application whose log may be kept.
func (r *Retention) open(ctx context.Context, org, application string) (applications.Asked, error) {
	asked, err := r.applications.Linked(ctx, org, application)
	if err == nil && !asked.AuditOptIn {
		err = fault.Cloud("retention_off", "retention is off for the application %s", application)
	}
	return asked, err
}

// IngestDue ingests from every opted-in application of the org that no host
// ingested from, or tried to, in the last five minutes, or where the last run left a
// place to go on at. What an application refuses is logged.
func (r *Retention) IngestDue(ctx context.Context, org string) error {
	linked, err := r.applications.AllLinked(ctx, org)
	if err != nil {
		return err
	}
	var runs sync.WaitGroup
	slots := make(chan struct{}, dueAtOnce)
	for _, a := range linked {
		if !a.AuditOptIn {
			continue
		}
		last, _, err := ingests.Get(ctx, r.store, org, a.ID)
		if err != nil {
			return err
		}
		if now := r.store.Now(ctx); now-last.Value.RanAt < dueAfter && !last.Value.goesOn(now) {
			continue
		}
		runs.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			result, err := r.Ingest(ctx, "", org, a.ID)
			if err != nil {
				r.postpone(ctx, org, a.ID)
			}
			if coded := new(fault.Error); errors.As(err, &coded) {
				r.log.Warn("an audit log was not ingested", "org", org, "application", a.ID, "code", coded.Code)
			} else if err == nil && result.Integrity == Mismatch {
				r.log.Error("an audit log differs from what was copied of it", "org", org, "application", a.ID)
			}
		})
	}
	runs.Wait()
	return nil
}

// postpone lets what failed rest as long as what went well: hosts look more often
// than a run is due.
func (r *Retention) postpone(ctx context.Context, org, application string) {
	err := r.store.Exclusive(ctx, section(org, application), func(ctx context.Context) error {
		row, _, err := ingests.Get(ctx, r.store, org, application)
		if err != nil {
			return err
		}
		p := row.Value
		p.RanAt, p.Left = r.store.Now(ctx), nil
		tx := r.store.Begin(ctx)
		ingests.Put(tx, org, application, p, row.Version)
		return tx.Commit()
	})
	if err != nil {
		r.log.Warn("a failed ingest is tried again soon", "org", org, "application", application, "error", err)
	}
}

func section(org, application string) string { return "ingest:" + org + ":" + application }
