package federation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/hostedroot"
	"github.com/authzhost/authz/host/service/pieces"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// The steps of a move, in their order (spec: federation §3). Each is reached by a commit
// of the record; whoever finds it there does what the step says, which may have been done
// already.
const (
	stepFreeze = "freeze" // nobody writes the hosted root
	stepStage  = "stage"  // the dataset is made and kept
	stepFlip   = "flip"   // the application takes it, and its new authority
	stepTake   = "take"   // the hosted root becomes root, or ends being it
	stepVerify = "verify" // the application says that it is what it should be
)

// run is one turn of a move.
type run struct {
	*Federation
	org, app string
	row      account.Row[applications.Move]
	root     *hostedroot.Root
}

// move takes the steps from the one that the record has reached. It answers nil when the
// move is over, done or undone, and an error when it cannot go on now.
func (r *run) move(ctx context.Context) error {
	if err := r.read(ctx); err != nil || r.row.ID == "" || r.row.Value.Over() {
		return err
	}
	var err error
	if r.root, err = r.Roots.Of(ctx, r.org); err != nil {
		return err
	}
	for !r.row.Value.Over() {
		step := r.row.Value.Step
		if err := r.at("before " + step); err != nil {
			return err
		}
		if err := r.step(ctx, step); err != nil {
			return r.trouble(ctx, err)
		}
		if err := r.at("after " + step); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) read(ctx context.Context) error {
	row, found, err := applications.Moves.Get(ctx, r.Store, r.org, r.app)
	if err != nil || !found {
		return err
	}
	r.row = row
	return nil
}

func (r *run) step(ctx context.Context, step string) error {
	demote := r.row.Value.Kind == applications.MoveDemote
	switch {
	case step == stepFreeze:
		return r.freeze(ctx)
	case step == stepStage && demote:
		return r.stageDemotion(ctx)
	case step == stepStage:
		return r.stagePromotion(ctx)
	case step == stepFlip:
		return r.flip(ctx)
	case step == stepTake && demote:
		return r.release(ctx)
	case step == stepTake:
		return r.receive(ctx)
	case step == stepVerify:
		return r.verify(ctx)
	}
	return fault.Internal(errors.New("a move at the step " + step))
}

// save commits the record as change makes it, with what else change puts into tx. It is
// bound to the record that was read, so that of two hosts one goes on.
func (r *run) save(ctx context.Context, change func(*account.Tx, *applications.Move) error) error {
	return account.Retry(func() error {
		next := r.row.Value
		tx := r.Store.Begin(ctx)
		if err := change(tx, &next); err != nil {
			return err
		}
		applications.Moves.Put(tx, r.org, r.app, next, r.row.Version)
		if err := tx.Commit(); err != nil {
			return r.overtakenBy(ctx, err)
		}
		return r.read(ctx)
	})
}

// overtakenBy is the error of a commit of which something had changed. When that was the
// record itself, somebody else goes on with the move.
func (r *run) overtakenBy(ctx context.Context, err error) error {
	if err != error(account.ErrMoved) {
		return err
	}
	row, _, read := applications.Moves.Get(ctx, r.Store, r.org, r.app)
	switch {
	case read != nil:
		return read
	case row.Version != r.row.Version:
		return fault.Storage(errors.New("another host goes on with the move"))
	}
	return err
}

func (r *run) to(ctx context.Context, step string) error {
	return r.save(ctx, func(_ *account.Tx, m *applications.Move) error {
		m.Step, m.Trouble = step, ""
		return nil
	})
}

// trouble notes why the move does not go on now.
func (r *run) trouble(ctx context.Context, err error) error {
	var told *fault.Error
	if !errors.As(err, &told) || told.Code == "" || r.row.Value.Trouble == told.Code || ctx.Err() != nil {
		return err
	}
	noted := r.save(ctx, func(_ *account.Tx, m *applications.Move) error {
		m.Trouble = told.Code
		return nil
	})
	if noted != nil {
		r.Logger.Warn("could not store why a move of authority stopped", "org", r.org, "application", r.app, "error", noted)
	}
	return err
}

// freeze holds the hosted root: every write that was judged before is a refused one.
func (r *run) freeze(ctx context.Context) error {
	if err := refused(r.root.MoveOrg(ctx, application.OrgMove{ID: r.row.Value.ID, Held: true})); err != nil {
		return err
	}
	return r.to(ctx, stepStage)
}

// stage keeps the dataset that the far side is to take, and how its answer begins.
func (r *run) stage(ctx context.Context, s provider.OrgSnapshot, head *authz.Position, answer any) error {
	raw, err := r.encoded(s)
	if err != nil {
		return err
	}
	text, err := authz.Marshal(answer)
	if err != nil {
		return fault.Internal(err)
	}
	position := max(r.row.Value.Position+1, r.Store.Now(ctx))
	return r.save(ctx, func(tx *account.Tx, m *applications.Move) error {
		if err := r.unstage(ctx, tx, m); err != nil {
			return err
		}
		ref := pieces.Put(tx, r.org, "move-"+account.NewID(ctx), raw)
		m.Step, m.Trouble, m.Attempt, m.Position, m.Head, m.Answer, m.Staged, m.Sent, m.Fenced = stepFlip, "", m.Attempt+1, position, head, text, &ref, false, false
		return nil
	})
}

// encoded is a dataset as it is kept and sent: validation above maxDataset.
func (f *Federation) encoded(s provider.OrgSnapshot) ([]byte, error) {
	s.Catalog = nil
	raw, err := authz.Marshal(s)
	if err != nil {
		return nil, fault.Internal(err)
	}
	if len(raw) > f.maxDataset {
		return nil, fault.Rejected(authz.CodeValidation, "the organization has %d KiB as JSON, and %d go into the one commit that it is", len(raw)>>10, f.maxDataset>>10)
	}
	return raw, nil
}

// maxDataset leaves room in a commit of storage for what rows weigh beside their JSON.
const maxDataset = 40 << 20

// unstage deletes the dataset of the record.
func (r *run) unstage(ctx context.Context, tx *account.Tx, m *applications.Move) error {
	if m.Staged == nil {
		return nil
	}
	err := pieces.Delete(ctx, tx, r.Store, r.org, *m.Staged)
	m.Staged = nil
	return err
}

func (r *run) staged(ctx context.Context) (s provider.OrgSnapshot, err error) {
	if r.row.Value.Staged == nil {
		return s, fault.Internal(errors.New("the move has no dataset"))
	}
	raw, err := pieces.Get(ctx, r.Store, r.org, *r.row.Value.Staged)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fault.Internal(err)
	}
	return s, nil
}

// asked is the way to the application.
func (r *run) asked(ctx context.Context) (applications.Asked, error) {
	return r.Applications.Linked(ctx, r.org, r.app)
}

// wanted is whether the application is the org root once the move is done.
func (r *run) wanted() bool { return r.row.Value.Kind == applications.MoveDemote }

// arrived asks the application whether it has the authority that the move gives it.
func (r *run) arrived(ctx context.Context, app applications.Asked) (bool, error) {
	ping, err := app.Relay.Ping(relay.Probing(ctx))
	if err == nil {
		err = relay.CheckPing(ping, app.ID)
	}
	return err == nil && ping.OrgRoot == r.wanted(), err
}

// flip has the application take the dataset with its new authority. Whoever finds this
// step does not know what was sent and what became of it: the application is asked first.
func (r *run) flip(ctx context.Context) error {
	app, err := r.asked(ctx)
	if err != nil {
		return err
	}
	head, there, err := r.looked(ctx, app)
	switch m := r.row.Value; {
	case err != nil && !m.Sent:
		return r.nothingSent(ctx, err)
	case err != nil:
		return r.unknown(err)
	case there && !m.Sent:
		return r.undo(ctx, fault.Cloud("authority_refused", "%s says that its authority has changed by something else: look at it, then repeat the move", r.app))
	case there && m.Fenced: // the fence may be on its way: what outranks it makes it void
		return r.outrank(ctx, app, head)
	case there:
		return r.to(ctx, stepTake)
	case m.Fenced:
		return r.fence(ctx, app, head, nil)
	}
	if err := r.sending(ctx, func(m *applications.Move) { m.Sent = true }); err != nil {
		return err
	}
	err = r.push(ctx, app, r.row.Value.Head)
	var told *fault.Error
	switch {
	case err == nil:
		return r.to(ctx, stepTake)
	case errors.Is(err, errDied):
		return err
	case isRejected(err, authz.CodeConflict):
		return r.overtaken(ctx, app)
	case errors.As(err, &told) && told.Name == "ProviderWriteRejectedError":
		return r.undo(ctx, fault.Cloud("authority_refused", "%s refuses the move (%s): %s", r.app, told.Code, told.Message))
	}
	if head, there, look := r.looked(ctx, app); look != nil {
		return r.unknown(look)
	} else if !there {
		return r.fence(ctx, app, head, err)
	}
	return r.to(ctx, stepTake)
}

// looked is whether the application has the authority that the move gives it, and the
// head of its log from before it said so.
func (r *run) looked(ctx context.Context, app applications.Asked) (head *authz.Position, there bool, err error) {
	if head, err = headOf(ctx, app); err != nil {
		return nil, false, err
	}
	there, err = r.arrived(ctx, app)
	return head, there, err
}

// sending notes what is about to be sent, so that nobody takes it for unsent.
func (r *run) sending(ctx context.Context, change func(*applications.Move)) error {
	return r.save(ctx, func(_ *account.Tx, m *applications.Move) error {
		change(m)
		return nil
	})
}

// push sends the dataset with the authority that it gives, at the move's position.
func (r *run) push(ctx context.Context, app applications.Asked, head *authz.Position) error {
	s, err := r.staged(ctx)
	if err != nil {
		return err
	}
	return r.apply(ctx, "push", app, s, r.wanted(), head)
}

func (r *run) apply(ctx context.Context, point string, app applications.Asked, s provider.OrgSnapshot, orgRoot bool, head *authz.Position) error {
	if err := r.at("before " + point); err != nil {
		return fmt.Errorf("%w: %w", errDied, err)
	}
	m := r.row.Value
	in := provider.ApplyOrgSnapshotInput{Snapshot: s, Source: m.Source, Authority: &orgRoot, Position: &m.Position}
	if head != nil {
		in.ExpectHead, in.ExpectIdentity = &head.Seq, head.Identity
	}
	err := app.Relay.ApplyOrgSnapshot(relay.Probing(ctx), in)
	if died := r.at("after " + point); died != nil {
		return fmt.Errorf("%w: %w", errDied, died)
	}
	return err
}

// errDied is the end of a host in a test.
var errDied = errors.New("the turn ends here")

// overtaken is a flip that the application refused because something was written there
// after its export: perhaps this very dataset, by a call whose answer was lost.
func (r *run) overtaken(ctx context.Context, app applications.Asked) error {
	switch there, err := r.arrived(ctx, app); {
	case err != nil:
		return r.unknown(err)
	case there:
		return r.to(ctx, stepTake)
	case r.row.Value.Attempt >= maxAttempts:
		return r.undo(ctx, fault.Cloud("org_changed", "%s was written again and again meanwhile: repeat the move when it is quiet", r.app))
	}
	return r.to(ctx, stepStage)
}

const maxAttempts = 3

// fence makes a flip void that nobody answered and that may still arrive: it gives the
// application the authority and the dataset that it has, at a higher position. Then the
// move is undone; lost is the error of the flip, nil when another turn sent it.
func (r *run) fence(ctx context.Context, app applications.Asked, head *authz.Position, lost error) error {
	s, err := app.Relay.ExportOrgSnapshot(ctx)
	if err != nil {
		return r.unknown(err)
	}
	if err := r.sending(ctx, func(m *applications.Move) { m.Fenced, m.Position = true, m.Position+1 }); err != nil {
		return err
	}
	switch err := r.apply(ctx, "fence", app, s, !r.wanted(), head); {
	case errors.Is(err, errDied):
		return err
	case err != nil:
		return r.unknown(err) // also a conflict: what was lost arrived meanwhile, and the next turn finds it
	}
	var told *fault.Error
	if !errors.As(lost, &told) {
		told = fault.Transport("application_timeout", r.app, "", "the application did not say whether it took the organization, and has not")
	}
	return r.undo(ctx, told.With("outcome", string(authz.OutcomeNotApplied)))
}

// outrank sends the dataset again, at a position that makes every fence void.
func (r *run) outrank(ctx context.Context, app applications.Asked, head *authz.Position) error {
	if err := r.sending(ctx, func(m *applications.Move) { m.Position++ }); err != nil {
		return err
	}
	switch err := r.push(ctx, app, head); {
	case errors.Is(err, errDied):
		return err
	case err != nil:
		return r.unknown(err)
	}
	return r.to(ctx, stepTake)
}

// unknown is a far side that does not say which of both is the root. Both stay frozen.
func (r *run) unknown(cause error) error {
	e := fault.Cloud("authority_unknown", "%s does not say whether it took the organization over", r.app).With("application", r.app)
	e.Cause = cause
	return e
}

// undo ends a move that the application did not take: each side is what it was before.
func (r *run) undo(ctx context.Context, why *fault.Error) error {
	m := r.row.Value
	if err := refused(r.root.MoveOrg(ctx, application.OrgMove{ID: m.ID, OrgRoot: new(!m.First)})); err != nil {
		return err
	}
	if err := r.at("before undone"); err != nil {
		return err
	}
	raw, err := kept(why)
	if err != nil {
		return fault.Internal(err)
	}
	return r.over(ctx, func(m *applications.Move, a *applications.Application, o *account.Org) {
		m.Failed = raw
		switch {
		case m.Kind == applications.MoveFederate:
			a.State, a.FederatedAt = applications.Linked, nil
			if m.First {
				o.Mode = account.ModeLinked
			}
		case a.State != applications.Federated:
			a.State, a.FederatedAt, o.Mode = applications.Federated, m.EndedAt, account.ModeFederated
		}
	})
}

// nothingSent ends a move that failed before the application was told of it. An outage of
// the service's own storage is for the next turn.
func (r *run) nothingSent(ctx context.Context, err error) error {
	var told *fault.Error
	if !errors.As(err, &told) || told.Code == fault.CodeStorage || ctx.Err() != nil {
		return err
	}
	return r.undo(ctx, notApplied(told))
}

// notApplied says of a failure that the application has taken nothing. What relayed calls
// say of a call of their own does not hold for the move.
func notApplied(e *fault.Error) *fault.Error {
	if _, says := e.Fields["outcome"]; says {
		e.With("outcome", string(authz.OutcomeNotApplied))
	}
	return e
}

// over ends the move and lets the org domain be written again.
func (r *run) over(ctx context.Context, change func(*applications.Move, *applications.Application, *account.Org)) error {
	return r.save(ctx, func(tx *account.Tx, m *applications.Move) error {
		if err := r.unstage(ctx, tx, m); err != nil {
			return err
		}
		m.EndedAt, m.Trouble = new(r.Store.Now(ctx)), ""
		_, o, err := r.Applications.Change(ctx, tx, r.org, r.app, func(a *applications.Application, o *account.Org) error {
			o.Moving = ""
			change(m, a, o)
			return nil
		})
		if err != nil {
			return err
		}
		return r.listed(ctx, tx, r.org, o.Mode == account.ModeFederated)
	})
}

// verify waits until the application says what it is. Until then the org domain stays
// frozen: the application might still take writes, or not yet.
func (r *run) verify(ctx context.Context) error {
	app, err := r.asked(ctx)
	if err != nil {
		return err
	}
	patience := time.NewTimer(r.Times.Verify)
	defer patience.Stop()
	for {
		there, err := r.arrived(ctx, app)
		if there {
			break
		}
		if err == nil && r.row.Value.Trouble == "authority_unknown" {
			// It said so for the whole of an earlier turn: it forgot what it had taken, as
			// one does that is restored. Nothing was written here since.
			return r.save(ctx, func(_ *account.Tx, m *applications.Move) error {
				m.Step, m.Trouble, m.Again = stepStage, "", true
				return nil
			})
		}
		select {
		case <-time.After(r.Times.Pause):
		case <-patience.C:
			return r.unknown(err)
		case <-ctx.Done():
			return fault.Storage(ctx.Err())
		}
	}
	if err := refused(r.root.MoveOrg(ctx, application.OrgMove{ID: r.row.Value.ID})); err != nil {
		return err
	}
	if err := r.at("before over"); err != nil {
		return err
	}
	return r.over(ctx, func(*applications.Move, *applications.Application, *account.Org) {})
}
