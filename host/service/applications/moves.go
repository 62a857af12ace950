package applications

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/pieces"
	"github.com/authzhost/authz/sdk/authz"
)

// The kinds of a Move.
const (
	MoveFederate = "federate"
	MoveDemote   = "demote"
)

// Move is the latest operation that moves an application's authority, under way or over
// (spec: federation §4). It is a record of its own, beside the entry: whoever takes the
// operation up again finds here all that it needs. Instants are epoch milliseconds.
type Move struct {
	Operation
	ID    string `json:"id"`
	Actor string `json:"actor"`

	// Source names the move in the datasets that it sends. First says that the org had no
	// hosted root when it began.
	Source string `json:"source"`
	First  bool   `json:"first,omitempty"`

	Resolutions map[string]authz.Resolution `json:"resolutions,omitempty"`
	Fingerprint string                      `json:"fingerprint,omitempty"`

	// Confers are the subjects whose account rows may come to reach somebody: those that
	// the caller was judged for.
	Confers []string `json:"confers,omitempty"`

	// Again says that the hosted root had taken the organization before: the application
	// forgot the move afterwards.
	Again bool `json:"again,omitempty"`

	// Attempt counts exports. Position is that of the dataset sent last, and never falls
	// from one move of the application to the next.
	Attempt  int   `json:"attempt"`
	Position int64 `json:"position"`

	// Head is the log head of the application that the staged dataset was made over; nil:
	// it keeps no log.
	Head *authz.Position `json:"head,omitempty"`

	// Sent says that the application may have been told of the dataset.
	Sent bool `json:"sent,omitempty"`

	// Fenced says that the application may have been told to stay what it was.
	Fenced bool `json:"fenced,omitempty"`

	// Staged is the dataset, as JSON; nil before it was made and once it has arrived.
	Staged *pieces.Ref `json:"staged,omitempty"`

	// EndedAt is when the move was over, nil before. Answer is what it answers then,
	// Failed the error instead.
	EndedAt *int64          `json:"endedAt,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Failed  json.RawMessage `json:"failed,omitempty"`
}

// Over reports a move that has ended.
func (m Move) Over() bool { return m.EndedAt != nil }

// Synced is what an application received of the org's dataset last: the position in the
// root's log, and when it was read.
type Synced struct {
	Position authz.Position `json:"position"`
	At       int64          `json:"at"`

	// Failures counts the pushes that failed since, the last of them at FailedAt.
	Failures int   `json:"failures,omitempty"`
	FailedAt int64 `json:"failedAt,omitempty"`
}

// DeletedUser is somebody whom the hosted root forgot: members are told.
type DeletedUser struct {
	UserID string `json:"userId"`
}

// Moves and Syncs lie under the ids of applications.
var (
	Moves   = account.Collection[Move]{Name: "moves"}
	Syncs   = account.Collection[Synced]{Name: "syncs"}
	Deleted = account.Collection[DeletedUser]{Name: "deleted_users"}
)

// DeletedID is where somebody lies in Deleted, whose ids may be of any text.
func DeletedID(userID string) string {
	sum := sha256.Sum256([]byte(userID))
	return hex.EncodeToString(sum[:])
}

// ErrInProgress refuses what an application cannot do while its authority is moved.
func ErrInProgress(application string, m Move) error {
	return fault.Cloud("operation_in_progress", "%s of %s is under way: wait until application.operation has ended", m.Kind, application).
		With("application", application).With("operation", m.Operation)
}

// moving is operation_in_progress while the application's authority is moved.
func (e *Entries) moving(ctx context.Context, org, id string) error {
	row, found, err := Moves.Get(ctx, e.store, org, id)
	if err == nil && found && !row.Value.Over() {
		err = ErrInProgress(id, row.Value)
	}
	return err
}

// show adds to an entry what the records beside it tell.
func (m Move) show(a *Application) {
	if m.ID != "" && !m.Over() {
		a.Operation = &m.Operation
	}
}

func (s Synced) show(a *Application) {
	if s.At > 0 {
		a.LastSyncAt = &s.At
	}
}

func (e *Entries) showMoves(ctx context.Context, org string, a *Application) error {
	move, _, err := Moves.Get(ctx, e.store, org, a.ID)
	if err != nil {
		return err
	}
	sync, _, err := Syncs.Get(ctx, e.store, org, a.ID)
	move.Value.show(a)
	sync.Value.show(a)
	return err
}

// showAllMoves is showMoves of a list, read at once.
func (e *Entries) showAllMoves(ctx context.Context, org string, list []Application) error {
	at := make(map[string]*Application, len(list))
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	for row, err := range Moves.All(ctx, e.store, org) {
		if err != nil {
			return err
		}
		if a := at[row.ID]; a != nil {
			row.Value.show(a)
		}
	}
	for row, err := range Syncs.All(ctx, e.store, org) {
		if err != nil {
			return err
		}
		if a := at[row.ID]; a != nil {
			row.Value.show(a)
		}
	}
	return nil
}

func (e *Entries) deleteMoves(ctx context.Context, tx *account.Tx, org, id string) error {
	move, found, err := Moves.Get(ctx, e.store, org, id)
	if err != nil {
		return err
	}
	if found {
		Moves.Delete(tx, org, id, move.Version)
	}
	sync, found, err := Syncs.Get(ctx, e.store, org, id)
	if err == nil && found {
		Syncs.Delete(tx, org, id, sync.Version)
	}
	return err
}

// All reads the org's applications by id.
func (e *Entries) All(ctx context.Context, org string) ([]Application, error) {
	rows, err := e.all(ctx, org)
	all := make([]Application, len(rows))
	for i, row := range rows {
		all[i] = row.Value.Application
	}
	return all, err
}

// Members are the ways to the org's federated applications, by id.
func (e *Entries) Members(ctx context.Context, org string) ([]Asked, error) {
	linked, err := e.AllLinked(ctx, org)
	var members []Asked
	for _, a := range linked {
		if a.State == Federated {
			members = append(members, a)
		}
	}
	return members, err
}

// Change lets change make another of an application's entry and of its org, in tx, which
// fails when either has changed by then. It answers them as the API shows them then.
func (e *Entries) Change(ctx context.Context, tx *account.Tx, org, id string, change func(*Application, *account.Org) error) (a Application, o account.Org, err error) {
	row, err := e.get(ctx, org, id)
	if err != nil {
		return a, o, err
	}
	of, err := e.org(ctx, org)
	if err != nil {
		return a, o, err
	}
	next, nextOrg := row.Value, of.Value
	if err := change(&next.Application, &nextOrg); err != nil {
		return a, o, err
	}
	next.Etag, nextOrg.Etag = account.NextEtag(next.Etag), account.NextEtag(nextOrg.Etag)
	entries.Put(tx, org, id, next, row.Version)
	account.Orgs.Put(tx, org, account.OrgID, nextOrg, of.Version)
	a, err = e.shown(ctx, org, next)
	return a, nextOrg, err
}

// Org reads the org.
func (e *Entries) Org(ctx context.Context, org string) (account.Org, error) {
	row, err := e.org(ctx, org)
	return row.Value, err
}

// NoteDeleted keeps that the hosted root forgets somebody, so that members are told.
func (e *Entries) NoteDeleted(ctx context.Context, org, userID string) error {
	ctx = account.WithWork(ctx, nil) // no commit of the request's own
	return account.Retry(func() error {
		row, found, err := Deleted.Get(ctx, e.store, org, DeletedID(userID))
		if err != nil || found {
			return err
		}
		tx := e.store.Begin(ctx)
		Deleted.Put(tx, org, DeletedID(userID), DeletedUser{userID}, row.Version)
		return tx.Commit()
	})
}
