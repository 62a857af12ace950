package federation

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/singleflight"

	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/hostedroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// Account is what federation asks of account data; *service.Service answers it.
type Account interface {
	Granted(ctx context.Context, org string, kinds ...authz.SubjectKind) (map[string]bool, error)
	MayReach(ctx context.Context, a *service.Access, subjects []string) error
}

// Options of a Federation; all but Logger and Times are required.
type Options struct {
	Store        *account.Store
	Applications *applications.Entries
	Roots        *hostedroot.Roots
	Meters       *billing.Meters
	Account      Account
	Logger       hclog.Logger
	Times        Times
}

// Times bound the waiting; members at zero take the defaults (spec: federation §4).
type Times struct {
	Answer time.Duration // 120 s, for the caller of a move
	Verify time.Duration // 60 s, for the far side to say what it is
	Pause  time.Duration // 500 ms, between two questions
}

// Federation moves organizations. It is safe for concurrent use. Its errors are
// *fault.Error.
type Federation struct {
	Options
	life context.Context
	end  context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	jobs     map[string]*job    // what goes on here, by its name
	datasets singleflight.Group // of members, by org and position

	// at is called before and after everything that somebody else could see of a move.
	// Tests end a host there.
	at func(point string) error

	maxDataset int // in bytes
}

// job is something that goes on in this process; done is closed when it no longer does.
type job struct {
	done chan struct{}
	err  error
}

// New makes a Federation, which the caller closes.
func New(o Options) *Federation {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	or := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	or(&o.Times.Answer, 2*time.Minute)
	or(&o.Times.Verify, time.Minute)
	or(&o.Times.Pause, 500*time.Millisecond)
	f := &Federation{Options: o, jobs: map[string]*job{}, at: func(string) error { return nil }, maxDataset: maxDataset}
	f.life, f.end = context.WithCancel(context.Background())
	return f
}

// Close waits until what goes on here has stopped; another host, or the next start,
// goes on with it.
func (f *Federation) Close() {
	f.end()
	f.done.Wait()
}

// Input of federate.
type Input struct {
	Resolutions map[string]authz.Resolution `json:"resolutions,omitempty"`
	Fingerprint string                      `json:"fingerprint,omitempty"`
	DryRun      bool                        `json:"dryRun,omitempty"`
}

// Federated answers federate. A dry run answers, in place of the objects, every conflict
// that has no resolution yet.
type Federated struct {
	DryRun         bool                      `json:"dryRun,omitempty"`
	Application    *applications.Application `json:"application,omitempty"`
	Org            *account.Org              `json:"org,omitempty"`
	Imported       orgmerge.Counts           `json:"imported"`
	VirtualParents []directory.VirtualParent `json:"virtualParents"`
	Warnings       []string                  `json:"warnings"`
	Conflicts      []authz.Conflict          `json:"conflicts,omitzero"`
	Fingerprint    string                    `json:"fingerprint,omitempty"`
}

// Demoted answers demote, with dryRun what would be.
type Demoted struct {
	DryRun      bool                      `json:"dryRun,omitempty"`
	Application *applications.Application `json:"application"`
	Org         *account.Org              `json:"org"`
	LeftBehind  LeftBehind                `json:"leftBehind"`
	Exported    orgmerge.Counts           `json:"exported"`
	Warnings    []string                  `json:"warnings"`
}

// LeftBehind is the vocabulary of account data, which no application has.
type LeftBehind struct {
	Roles  []authz.Role  `json:"roles"`
	Grants []authz.Grant `json:"grants"`
}

// joined waits for a move of the application that is under way, of the same kind:
// found is false when there is none. Another move in the org is operation_in_progress,
// and for a dry run this one as well.
func (f *Federation) joined(ctx context.Context, org, app, kind string, dry bool) (move applications.Move, found bool, err error) {
	o, err := f.Applications.Org(ctx, org)
	if err != nil || o.Moving == "" {
		return move, false, err
	}
	row, found, err := applications.Moves.Get(ctx, f.Store, org, o.Moving)
	switch {
	case err != nil:
		return move, false, err
	case !found || row.Value.Over():
		return move, false, nil // it ended between the two reads
	case dry || o.Moving != app || row.Value.Kind != kind:
		return move, false, applications.ErrInProgress(o.Moving, row.Value)
	}
	move, err = f.await(ctx, org, app, row.Value.ID)
	return move, true, err
}

// begin stores a move and freezes the org domain, in one commit. check judges the entry
// and the org once more, inside the section in which they change.
func (f *Federation) begin(ctx context.Context, org, app string, m applications.Move, check func(applications.Application, account.Org) error) error {
	ctx = account.WithWork(ctx, nil) // a repeat of the request joins the move instead
	return f.Applications.Steady(ctx, org, func(ctx context.Context) error {
		return account.Retry(func() error {
			before, found, err := applications.Moves.Get(ctx, f.Store, org, app)
			if err != nil {
				return err
			}
			if found {
				m.Position = max(m.Position, before.Value.Position+1)
				if old := before.Value; old.Staged != nil {
					return fault.Internal(errors.New("a move that ended left its dataset"))
				}
			}
			tx := f.Store.Begin(ctx)
			if _, _, err := f.Applications.Change(ctx, tx, org, app, func(a *applications.Application, o *account.Org) error {
				if o.Moving != "" {
					return fault.Cloud("operation_in_progress", "a move of %s has begun meanwhile: wait until application.operation has ended", o.Moving).
						With("application", o.Moving)
				}
				if err := check(*a, *o); err != nil {
					return err
				}
				o.Moving = app
				return nil
			}); err != nil {
				return err
			}
			if err := f.listed(ctx, tx, org, true); err != nil {
				return err
			}
			applications.Moves.Put(tx, org, app, m, before.Version)
			return tx.Commit()
		})
	})
}

// await carries the move on and waits until it has ended, or cannot go on now.
func (f *Federation) await(ctx context.Context, org, app, id string) (applications.Move, error) {
	j := f.carry(org, app)
	patience := time.NewTimer(f.Times.Answer)
	defer patience.Stop()
	select {
	case <-j.done:
	case <-ctx.Done():
		return applications.Move{}, fault.Internal(ctx.Err())
	case <-patience.C:
		return applications.Move{}, f.goesOn(ctx, org, app)
	}
	row, found, err := applications.Moves.Get(account.Remember(ctx), f.Store, org, app)
	switch {
	case err != nil:
		return applications.Move{}, err
	case !found || row.Value.ID != id:
		return applications.Move{}, fault.Internal(errors.New("the record of the move is gone"))
	case row.Value.Over() && row.Value.Failed != nil:
		return row.Value, unkept(row.Value.Failed)
	case !row.Value.Over():
		return row.Value, f.stopped(row.Value, app, j.err)
	}
	return row.Value, nil
}

// goesOn answers a caller whose patience ended before the move did.
func (f *Federation) goesOn(ctx context.Context, org, app string) error {
	e := fault.Transport("application_timeout", app, string(authz.OutcomeUnknown),
		"the move takes longer than an answer may: it goes on, application.operation tells how far it is, and the same call waits for it again")
	if row, found, err := applications.Moves.Get(account.Remember(ctx), f.Store, org, app); err == nil && found {
		e.With("operation", row.Value.Operation)
	}
	return e
}

// stopped is the error of a move that is not over and does not go on now.
func (f *Federation) stopped(m applications.Move, app string, err error) error {
	if m.Trouble == "authority_unknown" {
		return fault.Cloud("authority_unknown", "%s did not say whether it took the organization over: the org domain stays frozen until it answers; repeat the call once it does", app).
			With("application", app).With("operation", m.Operation)
	}
	var here *fault.Error
	if errors.As(err, &here) {
		return here
	}
	return fault.Storage(err)
}

// carry has this host carry the org's move on; who asks meanwhile gets the same job.
func (f *Federation) carry(org, app string) *job {
	return f.background("move/"+org, func(ctx context.Context) error { return f.carryOn(ctx, org, app) })
}

// background does something until it is done or the host ends; who names it meanwhile
// gets the same job.
func (f *Federation) background(name string, do func(context.Context) error) *job {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j := f.jobs[name]; j != nil {
		return j
	}
	j := &job{done: make(chan struct{})}
	f.jobs[name] = j
	f.done.Go(func() {
		ctx, cancel := context.WithTimeout(f.life, carryTime)
		defer cancel()
		err := do(ctx)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.jobs, name)
		j.err = err
		close(j.done)
		if err != nil && f.life.Err() == nil {
			f.Logger.Warn("a task of federation failed; the next round tries again", "what", name, "error", err)
		}
	})
	return j
}

// carryTime bounds one turn of a move; what is not over then is the next turn's.
const carryTime = 10 * time.Minute

func (f *Federation) carryOn(ctx context.Context, org, app string) error {
	return f.Store.Exclusive(ctx, "federation:"+org, func(ctx context.Context) error {
		r := &run{Federation: f, org: org, app: app}
		return r.move(ctx)
	})
}

// CarryDue begins to carry the org's move on when there is one: a host that died may have
// begun it.
func (f *Federation) CarryDue(ctx context.Context, org string) error {
	o, err := f.Applications.Org(ctx, org)
	if err == nil && o.Moving != "" {
		f.carry(org, o.Moving)
	}
	return err
}

// Orgs are those that are federated, or about to be.
func (f *Federation) Orgs(ctx context.Context) (orgs []string, err error) {
	for row, err := range federatedOrgs.All(ctx, f.Store, "") {
		if err != nil {
			return nil, err
		}
		orgs = append(orgs, row.ID)
	}
	return orgs, nil
}

// federatedOrgs lists them, so that nobody has to look at every org.
var federatedOrgs = account.Collection[struct{}]{Name: "federated_orgs"}

// listed keeps the list in a commit that begins a move, or ends one.
func (f *Federation) listed(ctx context.Context, tx *account.Tx, org string, federated bool) error {
	row, found, err := federatedOrgs.Get(ctx, f.Store, "", org)
	switch {
	case err != nil || found == federated:
	case federated:
		federatedOrgs.Put(tx, "", org, struct{}{}, row.Version)
	default:
		federatedOrgs.Delete(tx, "", org, row.Version)
	}
	return err
}

// keptError is an error as a record keeps it, for whoever waits on another host.
type keptError struct {
	Name    string         `json:"name"`
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Fields  map[string]any `json:"fields,omitempty"`
}

func kept(e *fault.Error) (json.RawMessage, error) {
	return authz.Marshal(keptError{e.Name, e.Code, e.Message, e.Fields})
}

func unkept(raw json.RawMessage) error {
	var e keptError
	if err := json.Unmarshal(raw, &e); err != nil {
		return fault.Internal(err)
	}
	return &fault.Error{Name: e.Name, Code: e.Code, Message: e.Message, Fields: e.Fields}
}
