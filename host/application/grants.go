package application

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	nounGlobalGrant  = "a global-scope grant"
	nounGlobalRevoke = "a global-scope revoke"
)

// grantDetail is the tuple that the audit log keeps of a new grant.
type grantDetail struct {
	ID        string       `json:"id,omitempty"` // in bulk entries only
	Subject   string       `json:"subject"`
	RoleID    string       `json:"roleId,omitempty"`
	Pattern   string       `json:"pattern,omitempty"`
	Scope     string       `json:"scope"`
	ExpiresAt authz.Expiry `json:"expiresAt,omitzero"`
}

func detailOf(g authz.Grant) grantDetail {
	return grantDetail{Subject: g.Subject, RoleID: g.RoleID, Pattern: g.Pattern, Scope: g.Scope, ExpiresAt: g.ExpiresAt}
}

func shapeOfGrant(in provider.GrantInput) (s shape) {
	s.text("subject", in.Subject, maxID)
	s.text("roleId", in.RoleID, maxID)
	s.text("pattern", in.Pattern, maxID)
	s.text("scope", in.Scope, maxID)
	return s
}

// CreateGrant writes one grant.
func (a *Application) CreateGrant(ctx context.Context, in provider.GrantInput, prov authz.Provenance) (authz.Grant, error) {
	prov, err := shapeOfGrant(in).provenance(prov)
	if err != nil {
		return authz.Grant{}, err
	}
	sections, err := a.dutySections(in)
	if err != nil {
		return authz.Grant{}, err
	}
	var row authz.Grant
	err = a.run(ctx, write{op: "createGrant", prov: prov, sections: sections, plan: func(ctx context.Context, d *draft) error {
		roles := map[string]authz.Role{}
		var err error
		if row, err = d.grant(ctx, in, roles); err != nil {
			return err
		}
		if err := d.separate(ctx, []authz.Grant{row}, roles, nil); err != nil {
			return err
		}
		d.audit("grant.create", row.ID, detailOf(row))
		d.emit(authz.SubjectEvents(row.Subject)...)
		return nil
	}})
	return answered(&row, err)
}

// CreateGrants writes all grants in one commit, or none; the answer is in input
// order.
func (a *Application) CreateGrants(ctx context.Context, in []provider.GrantInput, prov authz.Provenance) ([]authz.Grant, error) {
	prov, err := provenance(prov)
	if err != nil {
		return nil, err
	}
	if len(in) == 0 {
		return []authz.Grant{}, nil
	}
	if len(in) > storage.MaxCommitChanges {
		return nil, authz.Validation("inputs must hold at most %d grants", storage.MaxCommitChanges)
	}
	for _, g := range in {
		if s := shapeOfGrant(g); s.err != nil {
			return nil, s.err
		}
	}
	sections, err := a.dutySections(in...)
	if err != nil {
		return nil, err
	}
	var rows []authz.Grant
	err = a.run(ctx, write{op: "createGrants", prov: prov, sections: sections, plan: func(ctx context.Context, d *draft) error {
		rows = make([]authz.Grant, 0, len(in))
		detail := struct {
			Count    int           `json:"count"`
			GrantIDs []string      `json:"grantIds"`
			Grants   []grantDetail `json:"grants"`
		}{Count: len(in)}
		roles := map[string]authz.Role{}
		told := map[string]bool{}
		for _, g := range in {
			row, err := d.grant(ctx, g, roles)
			if err != nil {
				return err
			}
			rows = append(rows, row)
			tuple := detailOf(row)
			tuple.ID = row.ID
			detail.GrantIDs = append(detail.GrantIDs, row.ID)
			detail.Grants = append(detail.Grants, tuple)
			if !told[row.Subject] {
				told[row.Subject] = true
				d.emit(authz.SubjectEvents(row.Subject)...)
			}
		}
		if err := d.separate(ctx, rows, roles, nil); err != nil {
			return err
		}
		d.audit("grant.create_bulk", a.ids(), detail)
		return nil
	}})
	return answered(&rows, err)
}

// grant judges one proposal and drafts its row. roles remembers those that the
// operation has read.
func (d *draft) grant(ctx context.Context, in provider.GrantInput, roles map[string]authz.Role) (authz.Grant, error) {
	refused := func(err error) (authz.Grant, error) { return authz.Grant{}, err }
	scope := orGlobal(in.Scope)
	if err := d.app.checkGrant(ctx, in, d.now); err != nil {
		return refused(err)
	}
	if err := d.requireOrgRootAt(scope, nounGlobalGrant); err != nil {
		return refused(err)
	}
	if in.RoleID != "" {
		if err := d.grantedRole(ctx, in.RoleID, scope, roles); err != nil {
			return refused(err)
		}
	}
	row := authz.Grant{ID: d.app.ids(), Subject: in.Subject, RoleID: in.RoleID, Pattern: in.Pattern, Scope: scope,
		ExpiresAt: in.ExpiresAt, Provenance: d.prov, CreatedAt: d.now}
	d.change(storage.InsertGrant{Grant: row})
	return row, nil
}

// checkGrant judges a proposal, but for the role that it names.
func (a *Application) checkGrant(ctx context.Context, in provider.GrantInput, now int64) error {
	scope := orGlobal(in.Scope)
	if _, _, ok := authz.ParseSubject(in.Subject); !ok {
		return authz.Validation("%s is not a valid subject id", spell.Quote(in.Subject))
	}
	if err := checkScope(scope); err != nil {
		return err
	}
	if err := checkNewID("subject", in.Subject); err != nil {
		return err
	}
	if err := checkNewID("scope", scope); err != nil {
		return err
	}
	if (in.RoleID == "") == (in.Pattern == "") {
		return authz.Validation("a grant carries exactly one of roleId / pattern")
	}
	if in.Pattern != "" {
		if err := a.checkPatternAt(ctx, in.Pattern, scope); err != nil {
			return err
		}
		if issue := a.catalog.ValidateGrantableAt(in.Pattern, scope); issue != nil {
			return authz.Validation("%s", issue.Message)
		}
	}
	return checkExpiry("expiresAt", in.ExpiresAt, now)
}

// grantedRole checks a role that a grant names, and holds it in existence until
// the commit ends.
func (d *draft) grantedRole(ctx context.Context, id, scope string, roles map[string]authz.Role) error {
	role, read := roles[id]
	if !read {
		var found bool
		var err error
		if role, found, err = d.app.store.GetRole(ctx, id); err != nil {
			return err
		}
		if !found {
			return authz.Rejected(authz.CodeNotFound, "role %s does not exist", spell.Quote(id))
		}
		roles[id] = role
		d.require(storage.RequireRole{ID: id})
	}
	if !d.app.grantableAt(role, scope) {
		return authz.Validation("role %s has no pattern grantable at %s", spell.Quote(id), spell.Echo(scope))
	}
	return nil
}

// grantableAt reports whether a grant of the role at the scope could confer
// anything.
func (a *Application) grantableAt(role authz.Role, scope string) bool {
	return scope == authz.Global || slices.ContainsFunc(role.Patterns, func(p string) bool {
		return a.catalog.ValidateGrantableAt(p, scope) == nil
	})
}

// checkExpiry judges shape before value.
func checkExpiry(field string, e authz.Expiry, now int64) error {
	if err := checkExpiryShape(field, e); err != nil {
		return err
	}
	if at, set := e.At(); set && at <= now {
		return authz.Validation("%s is already in the past", field)
	}
	return nil
}

// checkExpiryShape wants an instant. What JSON held and was no finite number reads
// as -MaxInstant.
func checkExpiryShape(field string, e authz.Expiry) error {
	at, set := e.At()
	switch {
	case !set:
		return nil
	case at == -authz.MaxInstant:
		return authz.Validation("%s must be a finite epoch-millisecond number", field)
	case !authz.ValidInstant(at):
		return authz.Validation("%s must be a finite epoch-millisecond number — received %d", field, at)
	}
	return nil
}

// DeleteGrant removes a grant.
func (a *Application) DeleteGrant(ctx context.Context, id string, prov authz.Provenance) error {
	var s shape
	s.text("grantId", id, maxID)
	return a.propose(ctx, s, write{op: "deleteGrant", prov: prov, plan: func(ctx context.Context, d *draft) error {
		row, found, err := a.store.GetGrant(ctx, id)
		if err != nil {
			return err
		}
		if !found {
			return authz.Rejected(authz.CodeNotFound, "grant not found")
		}
		if err := d.requireOrgRootAt(row.Scope, nounGlobalGrant); err != nil {
			return err
		}
		d.change(storage.DeleteGrant{ID: id, MustExist: true})
		d.audit("grant.delete", id, struct {
			Subject string `json:"subject"`
		}{row.Subject})
		d.emit(authz.SubjectEvents(row.Subject)...)
		return nil
	}})
}

// ListGrants lists grants by id.
func (a *Application) ListGrants(ctx context.Context, q provider.GrantQuery) iter.Seq2[authz.Grant, error] {
	s := shapeOfGrantQuery(q)
	return listed(a, "listGrants", s.err, func() iter.Seq2[authz.Grant, error] {
		return a.store.ListGrants(ctx, grantFilter(q), storage.Page(q.Paging))
	})
}

// CountGrants counts what ListGrants would list without a page.
func (a *Application) CountGrants(ctx context.Context, q provider.GrantQuery) (int64, error) {
	if s := shapeOfGrantQuery(q); s.err != nil {
		return 0, s.err
	}
	n, err := a.store.CountGrants(ctx, grantFilter(q))
	return n, a.readFailed("countGrants", err)
}

func shapeOfGrantQuery(q provider.GrantQuery) (s shape) {
	s.filter("subject", q.Subject)
	s.filter("scope", q.Scope)
	s.filter("roleId", q.RoleID)
	s.page(q.Paging)
	return s
}

func grantFilter(q provider.GrantQuery) storage.GrantFilter {
	return storage.GrantFilter{Subject: q.Subject, Scope: q.Scope, RoleID: q.RoleID}
}

// listed yields the refusal of a query, or the rows with storage's failures in
// the form that callers may see.
func listed[Row any](a *Application, op string, refusal error, rows func() iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var none Row
		if refusal != nil {
			yield(none, refusal)
			return
		}
		for row, err := range rows() {
			if err != nil {
				yield(none, a.readFailed(op, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}
