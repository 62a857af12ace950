package api

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

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

type (
	snapshotResult struct {
		Snapshot provider.OrgSnapshot `json:"snapshot"`
	}
	appliedResult struct {
		Applied bool `json:"applied"`
	}
)

func exportOrgSnapshot(ctx context.Context, c *call, _ *none) (snapshotResult, error) {
	snapshot, err := c.snapshots.ExportOrgSnapshot(ctx)
	return snapshotResult{snapshot}, err
}

func applyOrgSnapshot(c *call, in *provider.ApplyOrgSnapshotInput) action {
	return func(ctx context.Context) (any, error) {
		if err := c.admitTransfer(ctx, *in); err != nil {
			return nil, err
		}
		if err := c.snapshots.ApplyOrgSnapshot(ctx, *in); err != nil {
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

// orgSource reads who sends a snapshot.
func orgSource(o object, m provider.Member, v reflect.Value) {
	var source string
	if raw, _ := o.raw(m.Name); len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &source) != nil || source == "" {
		o.problem.refuse(authz.Validation("an org snapshot must name its source"))
	}
	v.SetString(source)
}

// orgSnapshot reads the lists with the ids of their rows, and the rows after all other
// parameters.
func orgSnapshot(o object, m provider.Member, v reflect.Value) {
	raw, _ := o.raw(m.Name)
	snapshot, ok := o.objectOf(raw)
	if !ok {
		o.problem.refuse(authz.Validation("snapshot must be an object"))
	}
	groups := snapshot.rows("groups", "id")
	roles := snapshot.rows("roles", "id")
	grants := snapshot.rows("globalGrants", "id")
	revokes := snapshot.rows("globalRevokes", "id")
	users := snapshot.rows("users", "userId")
	requests := snapshot.rows("pendingGlobalRequests", "id")
	o.problem.later = append(o.problem.later, func() {
		v.Set(reflect.ValueOf(provider.OrgSnapshot{
			Groups:                eachRow("groups", groups, asItIs[authz.Group]),
			Roles:                 eachRow("roles", roles, asItIs[authz.Role]),
			GlobalGrants:          eachRow("globalGrants", grants, asItIs[authz.Grant]),
			GlobalRevokes:         eachRow("globalRevokes", revokes, asItIs[authz.Revoke]),
			Users:                 eachRow("users", users, orgUser.user),
			PendingGlobalRequests: eachRow("pendingGlobalRequests", requests, orgRequest),
		}))
	})
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
func eachRow[Read, Row any](list string, rows []object, row func(Read) Row) []Row {
	out := make([]Row, 0, len(rows))
	for i, o := range rows {
		own := object{members: o.members, problem: &problem{}}
		var read Read
		own.into(reflect.ValueOf(&read).Elem())
		out = append(out, row(read))
		var refused *authz.WriteRejectedError
		if errors.As(own.problem.err, &refused) {
			o.problem.refuse(authz.Validation("snapshot.%s[%d]: %s", list, i, refused.Message))
			break
		}
	}
	return out
}

func asItIs[Row any](r Row) Row { return r }

// orgUser insists on every member but the manager: a record that lacks active must
// not read as a deactivation, nor one without groupIds as leaving them.
type orgUser struct {
	UserID        string   `json:"userId"`
	Active        bool     `json:"active" read:"required"`
	GroupIDs      []string `json:"groupIds" read:"required"`
	OrgIDs        []string `json:"orgIds" read:"required"`
	ManagerUserID string   `json:"managerUserId" read:"nonempty"`
}

func (u orgUser) user() authz.User {
	return authz.User{UserID: u.UserID, Active: u.Active, GroupIDs: u.GroupIDs, OrgIDs: u.OrgIDs, ManagerUserID: u.ManagerUserID}
}

func orgRequest(r authz.Request) authz.Request {
	if r.Justification == nil {
		r.Justification = map[string]string{}
	}
	if r.Stages == nil {
		r.Stages = []authz.Stage{}
	}
	return r
}

// bodyLimit is how much of a body an operation may have.
func (e entry) bodyLimit(limit, snapshots int64) int64 {
	if e.Op == "applyOrgSnapshot" {
		return snapshots
	}
	return limit
}
