package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// OrgSnapshots is an application whose organization can be read and replaced as a
// whole.
type OrgSnapshots interface {
	ExportOrgSnapshot(ctx context.Context) (provider.OrgSnapshot, error)

	// CheckOrgSnapshot refuses what ApplyOrgSnapshot would, as far as that can be
	// told without the store.
	CheckOrgSnapshot(in provider.ApplyOrgSnapshotInput) error
	ApplyOrgSnapshot(ctx context.Context, in provider.ApplyOrgSnapshotInput) error
}

// AuthorityHook is told of every applied snapshot that says who is the org root,
// also when that is as before. The host then serves an application of that
// authority. When it fails, the snapshot stays applied.
type AuthorityHook func(ctx context.Context, orgRoot bool) error

// DefaultOrgSnapshotBodyLimit bounds the body of applyOrgSnapshot, in bytes.
const DefaultOrgSnapshotBodyLimit int64 = 256 << 20

const (
	opExportOrgSnapshot = "exportOrgSnapshot"
	opApplyOrgSnapshot  = "applyOrgSnapshot"
)

// aliases are further names of operations.
var aliases = map[string]string{
	"org.exportSnapshot": opExportOrgSnapshot,
	"org.applySnapshot":  opApplyOrgSnapshot,
}

type (
	snapshotResult struct {
		Snapshot provider.OrgSnapshot `json:"snapshot"`
	}
	appliedResult struct {
		Applied bool `json:"applied"`
	}
)

func exportOrgSnapshot(c *call) action {
	return func(ctx context.Context) (any, error) {
		snapshot, err := c.snapshots.ExportOrgSnapshot(ctx)
		return snapshotResult{snapshot}, err
	}
}

func applyOrgSnapshot(c *call) action {
	in := applyInput(c.object)
	return func(ctx context.Context) (any, error) {
		if err := c.admitTransfer(ctx, in); err != nil {
			return nil, err
		}
		if err := c.snapshots.ApplyOrgSnapshot(ctx, in); err != nil {
			return nil, err
		}
		if in.Authority != nil && c.authorityChanged != nil {
			if err := c.authorityChanged(ctx, *in.Authority); err != nil {
				// Whatever it was, it is no refusal of the snapshot, which is applied.
				return nil, errors.New("the snapshot is applied, but the host did not take its authority over: " + err.Error())
			}
		}
		return appliedResult{true}, nil
	}
}

// admitTransfer refuses authority that nobody would act upon: success would leave
// the organization without a writer, or with two.
func (c *call) admitTransfer(ctx context.Context, in provider.ApplyOrgSnapshotInput) error {
	if in.Authority == nil || c.authorityChanged != nil {
		return nil
	}
	if err := c.snapshots.CheckOrgSnapshot(in); err != nil {
		return err
	}
	orgRoot, err := c.app.StoredOrgRoot(ctx)
	if err == nil && orgRoot != *in.Authority {
		err = authz.Rejected(authz.CodeUnsupported,
			"this handler cannot accept an authority transfer: its host supplies no hook to rebuild the application with the new authority")
	}
	return err
}

// applyInput reads shapes in the order of application.md §19: the source, the
// lists with the ids of their rows, the options, and then the rows.
func applyInput(o object) provider.ApplyOrgSnapshotInput {
	in := provider.ApplyOrgSnapshotInput{}
	if raw := o.value("source"); len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &in.Source) != nil || in.Source == "" {
		o.problem.refuse(authz.Validation("an org snapshot must name its source"))
	}
	snapshot, ok := o.objectOf(o.value("snapshot"))
	if !ok {
		o.problem.refuse(authz.Validation("snapshot must be an object"))
	}
	groups := snapshot.rows("groups", "id")
	roles := snapshot.rows("roles", "id")
	grants := snapshot.rows("globalGrants", "id")
	revokes := snapshot.rows("globalRevokes", "id")
	users := snapshot.rows("users", "userId")
	requests := snapshot.rows("pendingGlobalRequests", "id")
	in.Authority = o.optionalFlag("authority")
	in.ExpectHead, in.Position = o.optionalSequence("expectHead"), o.optionalSequence("position")
	in.ExpectIdentity = o.textOrNone("expectIdentity")
	in.Snapshot = provider.OrgSnapshot{
		Groups:                eachRow("groups", groups, orgGroup),
		Roles:                 eachRow("roles", roles, orgRole),
		GlobalGrants:          eachRow("globalGrants", grants, orgGrant),
		GlobalRevokes:         eachRow("globalRevokes", revokes, orgRevoke),
		Users:                 eachRow("users", users, orgUser),
		PendingGlobalRequests: eachRow("pendingGlobalRequests", requests, orgRequest),
	}
	return in
}

// rows reads a list of a snapshot as far as the ids of its rows; an absent list is
// refused, because an empty one deletes.
func (o object) rows(list, id string) []object {
	var items []json.RawMessage
	raw := o.members[list]
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		o.problem.refuse(authz.Validation("snapshot.%s must be an array", list))
		return nil
	}
	rows := make([]object, 0, len(items))
	for i, item := range items {
		row, ok := o.objectOf(item)
		if !ok {
			o.problem.refuse(authz.Validation("snapshot.%s[%d] must be an object", list, i))
		}
		if text := row.members[id]; len(text) == 0 || text[0] != '"' {
			o.problem.refuse(authz.Validation("snapshot.%s[%d] must carry a string %s", list, i, id))
		}
		if o.problem.err != nil {
			return nil
		}
		rows = append(rows, row)
	}
	return rows
}

// eachRow reads the rows, and says of the first that does not read which one it is.
func eachRow[Row any](list string, rows []object, read func(object) Row) []Row {
	out := make([]Row, 0, len(rows))
	for i, o := range rows {
		own := object{members: o.members, problem: &problem{}}
		out = append(out, read(own))
		var refused *authz.WriteRejectedError
		if errors.As(own.problem.err, &refused) {
			o.problem.refuse(authz.Validation("snapshot.%s[%d]: %s", list, i, refused.Message))
			break
		}
	}
	return out
}

func (o object) optionalSequence(field string) *int64 {
	if !o.has(field) {
		return nil
	}
	n := o.sequence(field)
	return &n
}

func orgGroup(o object) authz.Group {
	o.required("name", "a string")
	o.required("parents", "a list of strings")
	return authz.Group{ID: o.text("id"), Name: o.text("name"), Description: o.text("description"), Parents: o.texts("parents"), Virtual: o.flag("virtual")}
}

func orgRole(o object) authz.Role {
	in := roleInput(o)
	return authz.Role{ID: o.text("id"), Name: in.Name, Description: in.Description, Patterns: in.Patterns, Requestable: in.Requestable}
}

func orgGrant(o object) authz.Grant {
	o.required("createdAt", "an integer")
	return authz.Grant{ID: o.text("id"), Subject: o.text("subject"), RoleID: o.nonEmpty("roleId"), Pattern: o.pattern("pattern"), Scope: o.text("scope"),
		ExpiresAt: o.expiry("expiresAt"), Provenance: o.rowProvenance(), CreatedAt: o.integer("createdAt", 0)}
}

func orgRevoke(o object) authz.Revoke {
	o.required("createdAt", "an integer")
	return authz.Revoke{ID: o.text("id"), UserID: o.text("userId"), Pattern: o.text("pattern"), Scope: o.text("scope"),
		Provenance: o.rowProvenance(), CreatedAt: o.integer("createdAt", 0)}
}

func (o object) rowProvenance() authz.Provenance {
	p, err := authz.ParseProvenance(o.members["provenance"])
	if err != nil {
		o.problem.refuse(err)
	}
	return p
}

// orgUser insists on every member but the manager: a record that lacks active must
// not read as a deactivation, nor one without groupIds as leaving them.
func orgUser(o object) authz.User {
	o.required("active", "a boolean")
	o.required("groupIds", "a list of strings")
	o.required("orgIds", "a list of strings")
	return authz.User{UserID: o.text("userId"), Active: o.flag("active"), GroupIDs: o.texts("groupIds"), OrgIDs: o.texts("orgIds"),
		ManagerUserID: o.nonEmpty("managerUserId")}
}

func orgRequest(o object) authz.Request {
	for _, field := range []string{"createdAt", "stageIndex"} {
		o.required(field, "an integer")
	}
	r := authz.Request{ID: o.text("id"), RequesterUserID: o.text("requesterUserId"), RoleID: o.nonEmpty("roleId"), Pattern: o.pattern("pattern"),
		Scope: o.text("scope"), ProposedExpiresAt: o.expiry("proposedExpiresAt"), State: authz.RequestState(o.text("state")),
		StageIndex: o.integer("stageIndex", 0), Stages: stages(o), CreatedAt: o.integer("createdAt", 0), DecidedAt: o.optionalInteger("decidedAt"),
		Justification: o.answers("justification")}
	if r.Justification == nil {
		r.Justification = map[string]string{}
	}
	for _, d := range o.objects("decisions") {
		r.Decisions = append(r.Decisions, authz.Decision{StageIndex: d.integer("stageIndex", 0), DecidedBy: d.text("decidedBy"),
			Decision: d.text("decision"), At: d.integer("at", 0), Note: d.text("note")})
	}
	return r
}

// bodyLimit is how much of a body an operation may have.
func (e entry) bodyLimit(limit, snapshots int64) int64 {
	if e.Op == opApplyOrgSnapshot {
		return snapshots
	}
	return limit
}

// addAliases lets further names lead to the operations they stand for.
func addAliases(table map[string]entry) error {
	for alias, op := range aliases {
		e, ok := table[op]
		if !ok {
			return fmt.Errorf("the alias %q stands for %q, which is no operation", alias, op)
		}
		table[alias] = e
	}
	return nil
}
