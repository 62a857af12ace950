package application

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/google/uuid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The record that says whether this application is the org root
// (spec: architecture §9.5). Without CapRecords authority cannot move, and the
// option of the construction is all there is.
const (
	authorityCollection = "system"
	authorityID         = "authority"
)

// Authority is the record of a partition that says whether its application is the org
// root, and since which move (spec: architecture §9.5).
type Authority struct {
	OrgRoot  bool   `json:"orgRoot"`
	Source   string `json:"source"`
	Position *int64 `json:"position,omitempty"`
	Moving   string `json:"moving,omitempty"`

	// Earlier keeps the positions of sources other than Source.
	Earlier map[string]int64 `json:"earlier,omitempty"`

	// Version is that of the record; 0 means that the store keeps none.
	Version int64 `json:"-"`
}

// ReadAuthority reads the record of a store that has records; nil where none is stored
// yet.
func ReadAuthority(ctx context.Context, s storage.Records) (*Authority, error) {
	row, found, err := s.GetRecord(ctx, authorityCollection, authorityID)
	if err != nil || !found {
		return nil, err
	}
	held := &Authority{Version: row.Version}
	if err := json.Unmarshal(row.Data, held); err != nil {
		return nil, fmt.Errorf("decode the authority record: %w", err)
	}
	return held, nil
}

// Change writes the record over the version that it was read at.
func (r *Authority) Change(now int64) (storage.Change, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the authority record: %w", err)
	}
	return storage.PutRecord{Expect: r.Version, Record: storage.Record{
		Collection: authorityCollection, ID: authorityID, Data: raw, UpdatedAt: now}}, nil
}

// Requirement holds the record at the version that it was read at.
func (r *Authority) Requirement() storage.Requirement {
	return storage.RequireRecord{Collection: authorityCollection, ID: authorityID, Version: r.Version}
}

// Moved is the record after authority came here, or went, by a source. r may be nil.
func (r *Authority) Moved(orgRoot bool, source string) *Authority {
	if r == nil {
		return &Authority{OrgRoot: orgRoot, Source: source}
	}
	next := r.from(source, nil)
	next.OrgRoot, next.Version = orgRoot, r.Version
	return next
}

// positionOf is the position of the last snapshot applied from a source, nil when
// none told one.
func (r *Authority) positionOf(source string) *int64 {
	if source == r.Source {
		return r.Position
	}
	if p, ok := r.Earlier[source]; ok {
		return &p
	}
	return nil
}

// from is the record after a snapshot of a source, whose position may be nil.
func (r *Authority) from(source string, position *int64) *Authority {
	next := &Authority{OrgRoot: r.OrgRoot, Source: source, Position: position, Earlier: maps.Clone(r.Earlier)}
	if r.Position != nil && r.Source != source {
		if next.Earlier == nil {
			next.Earlier = map[string]int64{}
		}
		next.Earlier[r.Source] = *r.Position
	}
	if delete(next.Earlier, source); len(next.Earlier) == 0 {
		next.Earlier = nil // as it reads back
	}
	return next
}

// openAuthority reads the record, or stores the first value of it.
func (a *Application) openAuthority(ctx context.Context, orgRoot bool) error {
	const op = "open"
	ctx, cancel := bounded(ctx)
	defer cancel()
	first := &Authority{OrgRoot: orgRoot}
	if !a.caps.Has(storage.CapRecords) {
		a.authority.Store(first)
		return nil
	}
	if found, err := a.refreshAuthority(ctx); err != nil || found {
		return a.readFailed(op, err)
	}
	now := a.clock()
	change, err := first.Change(now)
	if err != nil {
		return err
	}
	_, err = a.send(ctx, &draft{op: op}, storage.Commit{ID: uuid.NewString(), At: now, Changes: []storage.Change{change}})
	if _, raced := asRefused(err); err != nil && !raced {
		return a.writeFailed(op, err)
	}
	found, err := a.refreshAuthority(ctx)
	if err == nil && !found {
		return &authz.UnavailableError{Message: "the authority record vanished while it was opened"}
	}
	return a.readFailed(op, err)
}

// refreshAuthority reads the record; writes are judged by it from then on. A read
// during which another one brought a change is repeated: it may have read the
// record of before. Versions say nothing of that, they begin anew with a store
// that was replaced. Without records there is nothing to read.
func (a *Application) refreshAuthority(ctx context.Context) (found bool, err error) {
	if !a.caps.Has(storage.CapRecords) {
		return true, nil
	}
	for {
		before := a.authority.Load()
		next, err := ReadAuthority(ctx, a.store)
		if err != nil || next == nil {
			return false, err
		}
		// What did not change keeps its place, lest an applied snapshot takes this
		// read for a change that came after it.
		if reflect.DeepEqual(before, next) || a.authority.CompareAndSwap(before, next) {
			return true, nil
		}
	}
}

// StoredOrgRoot reads whether the application is the org root, as every host that
// shares its store would answer now.
func (a *Application) StoredOrgRoot(ctx context.Context) (bool, error) {
	if _, err := a.refreshAuthority(ctx); err != nil {
		return false, a.readFailed("the authority record", err)
	}
	return a.authority.Load().OrgRoot, nil
}

// rereadAuthority reads the record again. Where it is gone the store's content
// was replaced below a running host, and the first value is stored anew: an
// operator accepts that content only when it is complete.
func (a *Application) rereadAuthority(ctx context.Context) error {
	found, err := a.refreshAuthority(ctx)
	if err != nil || found {
		return err
	}
	a.log.Warn("the authority record is gone; storing its first value again", "orgRoot", a.orgRoot)
	return a.openAuthority(ctx, a.orgRoot)
}

// requireOrgRoot refuses a write of organizational-domain data where it does not belong,
// and binds the commit to the record that it was judged by.
func (d *draft) requireOrgRoot(noun string) error {
	switch {
	case !d.authority.OrgRoot:
		return authz.Rejected(authz.CodeNotOrgRoot,
			"%s is organizational-domain data: this Application is not the org root and holds it as a read model", noun)
	case d.authority.Moving != "":
		return authz.Rejected(authz.CodeConflict, "the organization is being moved")
	}
	d.orgDomain = true
	return nil
}

// requireOrgRootAt is requireOrgRoot for rows that are organizational only at the global scope.
func (d *draft) requireOrgRootAt(scope, noun string) error {
	if scope != authz.Global {
		return nil
	}
	return d.requireOrgRoot(noun)
}
