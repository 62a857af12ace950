package application

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The exclusive sections of writes, taken in this order.
const (
	sectionCatalog   = "catalog"
	sectionImports   = "imports"
	sectionGroups    = "groups"
	sectionRoles     = "roles"
	sectionReporting = "reporting"
	sectionScopes    = "scopes"
	sectionRequest   = "request:" // and the id of the request
	sectionAudit     = SectionAudit
)

// OrgSections are the exclusive sections of organizational-domain data, in the order in
// which they are taken.
func OrgSections() []string { return []string{sectionGroups, sectionRoles, sectionReporting} }

// SectionAudit is the exclusive section of an audit log whose entries are linked by
// hashes. It is the innermost one.
const SectionAudit = "audit"

const (
	// maxRefusals is how often the conditions of a commit may fail before the
	// operation gives up.
	maxRefusals = 3

	// writeTime bounds a write whose caller set no deadline: waiting for
	// sections, and for the store to learn the fate of a commit, both end with it.
	writeTime = 60 * time.Second
)

// write is one operation: plan judges the stored state inside the sections and
// drafts the commit. It may run several times, each on fresh state.
type write struct {
	op       string
	prov     authz.Provenance // normalised; none of a request, whose actor is a user
	rootOnly string           // what only the org root writes, whatever the rows say; "" = nothing
	sections []string
	dry      bool  // planned and not written
	pace     *pace // of a part of a long work, else nil
	plan     func(ctx context.Context, d *draft) error
}

// draft is what one run of a plan wants written.
type draft struct {
	app       *Application
	life      string // incarnation of the content that is read and judged
	op        string
	prov      authz.Provenance
	authority *Authority
	visit     *visit // nil but of a guest
	orgDomain bool   // some of it belongs to the org root
	now       int64
	page      *page
	pace      *pace // nil but of a part

	// landed, which may be nil, is called when the page stands. more asks for
	// another page inside the same sections: the plan is then called again.
	landed func()
	more   bool
}

// page becomes one commit.
type page struct {
	requires []storage.Requirement
	changes  []storage.Change
	audit    []authz.AuditEntry
	events   []authz.Event
	weight   int // of a part
}

func (d *draft) change(changes ...storage.Change) {
	d.page.changes = append(d.page.changes, changes...)
}

// fits refuses a commit that storage would refuse, before the memory of this
// process is spent on the rest of it.
func (d *draft) fits() error {
	if len(d.page.changes) <= storage.MaxCommitChanges {
		return nil
	}
	return errTooLarge(d.op)
}

func errTooLarge(op string) error { return authz.Validation("%s is too large for one write", op) }

func (d *draft) require(r storage.Requirement) { d.page.requires = append(d.page.requires, r) }

func (d *draft) emit(events ...authz.Event) { d.page.events = append(d.page.events, events...) }

// audit records the action; a nil detail is absent. Details are structs and maps
// of strings and numbers, which always encode.
func (d *draft) audit(action, target string, detail any) {
	d.auditAs(d.prov.Actor(), action, target, detail)
}

// auditAs is audit for what somebody other than the caller is answerable for.
func (d *draft) auditAs(actor, action, target string, detail any) {
	entry := authz.AuditEntry{ID: d.app.ids(), At: d.now, Actor: d.actor(actor), Action: action, Target: target}
	if detail != nil {
		raw, err := json.Marshal(detail)
		if err != nil {
			panic(fmt.Sprintf("audit detail of %s: %v", action, err))
		}
		entry.Detail = raw
	}
	entry.Detail = d.entered(entry.Detail)
	d.page.audit = append(d.page.audit, entry)
}

// propose judges the shape of an operation's members and its provenance, then runs it.
func (a *Application) propose(ctx context.Context, s shape, w write) (err error) {
	if w.prov, err = s.provenance(w.prov); err != nil {
		return err
	}
	return a.run(ctx, w)
}

// provenance is the provenance of a write whose members have their shape.
func (s shape) provenance(of authz.Provenance) (authz.Provenance, error) {
	if s.err != nil {
		return authz.Provenance{}, s.err
	}
	return provenance(of)
}

// answered is what a plan has planned, of a write that failed nothing.
func answered[T any](planned *T, err error) (answer T, _ error) {
	if err == nil {
		answer = *planned
	}
	return answer, err
}

// run carries one operation from the org-root rule to the last listener.
func (a *Application) run(ctx context.Context, w write) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	applied := 0
	err := a.untilJudged(ctx, w, &applied)
	var down *authz.UnavailableError
	if applied > 0 && errors.As(err, &down) {
		// Commits of an import before the one that failed stand.
		return &authz.UnavailableError{Message: down.Message, Outcome: authz.OutcomeUnknown, Cause: down}
	}
	return err
}

// untilJudged attempts the operation. Fences that moved on start it over once;
// conditions of the commit that failed start it over until the third failure, so
// that its own checks name the reason. applied counts the commits that stand.
func (a *Application) untilJudged(ctx context.Context, w write, applied *int) error {
	refusals, robbed := 0, false
	for {
		err := a.attempt(ctx, w, applied)
		switch cause, refused := asRefused(err); {
		case refused:
			if refusals++; refusals == maxRefusals {
				a.log.Warn("a write lost every race", "op", w.op, "error", cause)
				return authz.Rejected(authz.CodeConflict, "what %s depends on kept changing under it", w.op)
			}
			if err := a.rereadAuthority(ctx); err != nil {
				return a.writeFailed(w.op, err)
			}
		case errors.Is(err, errStaleFence):
			if robbed {
				return &authz.UnavailableError{Outcome: authz.OutcomeNotApplied, Cause: err,
					Message: w.op + " lost its exclusive section to another writer"}
			}
			robbed = true
		default:
			return err
		}
	}
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, writeTime)
}

func (a *Application) attempt(ctx context.Context, w write, applied *int) error {
	visit, err := a.admit(ctx, w.op)
	if err != nil {
		return a.writeFailed(w.op, err)
	}
	if a.authority.Load().Moving != "" { // a move ends, or is taken back, without this process
		if err := a.rereadAuthority(ctx); err != nil {
			return a.writeFailed(w.op, err)
		}
	}
	d := &draft{app: a, visit: visit, life: a.store.Info().Incarnation, op: w.op, prov: w.prov, authority: a.authority.Load(), now: a.clock(), pace: w.pace, page: &page{}}
	if w.rootOnly != "" {
		if err := d.requireOrgRoot(w.rootOnly); err != nil {
			return err
		}
	}
	d.prov = d.via(d.prov)
	err = a.exclusively(ctx, w.sections, func(section context.Context) error {
		for d.more = true; d.more; *applied++ {
			d.now, d.page, d.landed, d.more = a.clock(), &page{}, nil, false
			if err := w.plan(section, d); err != nil {
				return orLost(section, err)
			}
			if w.dry {
				return nil
			}
			if err := a.land(ctx, section, d); err != nil {
				return err
			}
			if d.landed != nil {
				d.landed()
			}
			if d.pace != nil {
				d.pace.told()
			}
		}
		return nil
	})
	return a.writeFailed(w.op, err)
}

// orLost is the error of a read under a section. One that was lost ends its
// context, and the reads under it fail for that reason and no other.
func orLost(section context.Context, err error) error {
	if cause := context.Cause(section); storage.CodeOf(cause) == storage.CodeStaleFence {
		return fmt.Errorf("%w: %w", errStaleFence, cause)
	}
	return err
}

// land commits one page, its entries linked to the audit chain if there is one.
// It is sent under the caller's own context: when a section is lost, the fence
// refuses the commit and nothing needs to be broken off.
func (a *Application) land(ctx, section context.Context, d *draft) error {
	if !a.chained || len(d.page.audit) == 0 {
		return a.commit(ctx, storage.Held(section, a.store), d, d.page)
	}
	return a.inside(section, sectionAudit, func(section context.Context) error {
		newest, err := a.newestAudit(section)
		if err != nil {
			return orLost(section, err)
		}
		linked := *d.page
		if linked.audit, err = authz.LinkHashChain(newest, d.page.audit); err != nil {
			return err
		}
		return a.commit(ctx, storage.Held(section, a.store), d, &linked)
	})
}

func (a *Application) exclusively(ctx context.Context, keys []string, fn func(context.Context) error) error {
	if len(keys) == 0 {
		return fn(ctx)
	}
	return a.inside(ctx, keys[0], func(ctx context.Context) error {
		return a.exclusively(ctx, keys[1:], fn)
	})
}

// inside runs fn in one section more. A wait for it that ends because an outer
// one was lost is that loss and no outage.
func (a *Application) inside(ctx context.Context, key string, fn func(context.Context) error) error {
	entered := false
	err := storage.RunExclusive(ctx, a.store, key, func(ctx context.Context) error {
		entered = true
		return fn(ctx)
	})
	if err != nil && !entered {
		return orLost(ctx, err)
	}
	return err
}

// commit makes one page durable, then tells the listeners. A page that changes
// nothing and logs nothing only tells them.
func (a *Application) commit(ctx context.Context, fences []storage.Fence, d *draft, p *page) error {
	c := storage.Commit{ID: uuid.NewString(), At: d.now, Incarnation: d.life, Fences: fences, Requires: p.requires,
		Changes: p.changes, Audit: p.audit}
	if a.persist {
		c.Events = p.events
	}
	if d.orgDomain && d.authority.Version > 0 {
		c.Requires = append(c.Requires, d.authority.Requirement())
	}
	if len(c.Changes) == 0 && len(c.Audit) == 0 && len(c.Events) == 0 {
		if len(p.events) > 0 {
			a.stream.deliver(ctx, a.stream.begin(), 0, p.events)
		}
		return nil
	}
	send := a.send
	if d.pace != nil {
		send = a.sendPart
	}
	if len(p.events) == 0 {
		_, err := send(ctx, d, c)
		return err
	}
	t := a.stream.begin()
	if d.pace != nil { // nobody's write waits long for the number of a part: its event empties everything, in any order
		defer time.AfterFunc(partWait, func() { a.stream.abandon(t) }).Stop()
	}
	result, err := send(ctx, d, c)
	if err != nil {
		var lost *authz.UnavailableError
		if errors.As(err, &lost) && lost.Outcome == authz.OutcomeUnknown {
			a.stream.deliver(ctx, t, 0, p.events) // it may have been applied, and hearing of it for nothing does no harm
		} else {
			a.stream.abandon(t)
		}
		return err
	}
	a.stream.deliver(ctx, t, result.UpTo.Seq, p.events)
	if a.persist {
		if a.store.Info().Incarnation == d.life { // else nobody knows whose numbers these are
			a.stream.note(d.life, delivered{c.ID, result.UpTo.Seq - int64(len(p.events)) + 1, result.UpTo})
		}
		a.appended()
	}
	return nil
}

// send commits c. The store sends it again while its fate is unknown. Errors are mapped
// except refusals of its conditions and of its fences.
func (a *Application) send(ctx context.Context, d *draft, c storage.Commit) (storage.CommitResult, error) {
	began := time.Now()
	result, err := a.store.Commit(ctx, c)
	if err == nil {
		return result, nil
	}
	if known := a.known(d.op, err); known != nil {
		return storage.CommitResult{}, known
	}
	return storage.CommitResult{}, d.unknown(c, time.Since(began), err)
}

// known is the error of a commit that was not applied, nil while its fate is unknown.
func (a *Application) known(op string, err error) error {
	switch storage.CodeOf(err) {
	case storage.CodeConflict, storage.CodeNotFound:
		return &refusedError{err}
	case storage.CodeStaleFence:
		return fmt.Errorf("%w: %w", errStaleFence, err)
	case storage.CodeTooLarge:
		a.log.Warn("commit refused", "op", op, "error", err)
		return errTooLarge(op)
	case storage.CodeUnavailable:
		if outcomeOf(err) != authz.OutcomeNotApplied {
			return nil
		}
	case "": // Not an answer of the seam, so it says nothing about the commit.
		var refused *authz.MeshError // but of the store of a guest, which was not asked then
		if errors.As(err, &refused) {
			return refused
		}
		return nil
	}
	return err
}

// unknown is the error of a write whose commit may stand.
func (d *draft) unknown(c storage.Commit, took time.Duration, cause error) error {
	why := fmt.Sprintf("its commit of %s had no answer within %s", counted(len(c.Changes), "change"), took.Round(time.Millisecond))
	if d.app.store.Info().Incarnation != d.life {
		why = "its content was replaced since"
	}
	d.app.log.Warn("the fate of a commit is unknown", "op", d.op, "commit", c.ID, "changes", len(c.Changes), "took", took, "error", cause)
	return &authz.UnavailableError{Outcome: authz.OutcomeUnknown, Cause: cause,
		Message: "storage did not say whether " + d.op + " was applied: " + why}
}
