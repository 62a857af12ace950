package orgroot

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// User is what is known of one.
type User struct {
	UserID string `json:"userId"`
	Active bool   `json:"active"`
}

// UserRecord is what the root has stored of a user. Stored is false where it has nothing:
// then the user is active and in no group.
type UserRecord struct {
	UserID        string   `json:"userId"`
	Active        bool     `json:"active"`
	GroupIDs      []string `json:"groupIds"`
	OrgIDs        []string `json:"orgIds"`
	ManagerUserID *string  `json:"managerUserId"`
	Stored        bool     `json:"stored"`
}

// OneUser is the record of a user at the root.
func (r *Root) OneUser(ctx context.Context, a *service.Access, userID string) (UserRecord, error) {
	if err := r.BareUser(ctx, a.Org.ID, "id", userID); err != nil {
		return UserRecord{}, err
	}
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (UserRecord, error) { return recordOf(ctx, to, userID) })
}

func recordOf(ctx context.Context, to applications.Asked, userID string) (UserRecord, error) {
	user, err := to.Relay.GetUser(ctx, userID)
	if err != nil {
		return UserRecord{}, err
	}
	if user == nil {
		return UserRecord{UserID: userID, Active: true, GroupIDs: []string{}, OrgIDs: []string{}}, nil
	}
	record := UserRecord{UserID: user.UserID, Active: user.Active, GroupIDs: append([]string{}, user.GroupIDs...), OrgIDs: append([]string{}, user.OrgIDs...), Stored: true}
	if user.ManagerUserID != "" {
		record.ManagerUserID = &user.ManagerUserID
	}
	return record, nil
}

func matchUser(ctx context.Context, to applications.Asked, userID string, match Match) error {
	if match == nil {
		return nil
	}
	record, err := recordOf(ctx, to, userID)
	if err != nil {
		return err
	}
	return match.against(record)
}

const atOnce = 8

// UserList is a page of users. Complete tells that there are no others.
type UserList struct {
	List[User]
	Complete bool
}

// UserFilter selects users; a nil Active and a Prefix of "" are absent.
type UserFilter struct {
	Active *bool
	Prefix string // of the id
}

// Users lists users by id: those stored at a hosted root, else those whom the root's rows
// name. There may be others then: a linked root knows no user of whom it has no row.
func (r *Root) Users(ctx context.Context, a *service.Access, f UserFilter, p Page) (l UserList, err error) {
	err = r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
		l.Complete = to.Hosted()
		q := provider.UserQuery{Prefix: f.Prefix, Active: f.Active, Stored: l.Complete, Paging: provider.Paging{After: p.After, Limit: p.Limit + 1}}
		rows, err := ordered(to.Relay.ListUsers(ctx, q), to.ID, p, byID(func(u provider.ListedUser) string { return u.UserID }))
		rows, err = matching(rows, err, to.ID, func(u provider.ListedUser) bool {
			return strings.HasPrefix(u.UserID, f.Prefix) && (f.Active == nil || u.Active == *f.Active)
		})
		if err != nil {
			return err
		}
		users := make([]User, len(rows))
		for i, u := range rows {
			users[i] = User{UserID: u.UserID, Active: u.Active}
		}
		l.List = cut(users, p, func(u User) string { return u.UserID })
		return nil
	})
	return l, err
}

// eightAtATime asks n times. The first error ends the others.
func eightAtATime(ctx context.Context, n int, ask func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	room := make(chan struct{}, atOnce)
	var asking sync.WaitGroup
	for i := range n {
		room <- struct{}{}
		asking.Go(func() {
			defer func() { <-room }()
			if err := ask(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	asking.Wait()
	return context.Cause(ctx)
}

func (r *Root) SetMembership(ctx context.Context, a *service.Access, userID string, groupIDs []string, match Match) error {
	if err := r.BareUser(ctx, a.Org.ID, "id", userID); err != nil {
		return err
	}
	for i, id := range groupIDs {
		if err := r.bare(ctx, a.Org.ID, fmt.Sprintf("groupIds[%d]", i), authz.SubjectGroup, id); err != nil {
			return err
		}
	}
	return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
		if err := matchUser(ctx, to, userID, match); err != nil {
			return err
		}
		if err := r.mayJoin(ctx, a, to, userID, groupIDs); err != nil {
			return err
		}
		return to.Relay.SetGroupMembership(ctx, userID, groupIDs, a.Caller.Provenance())
	})
}

// Join puts a user into one group, and leaves the others as they are.
func (r *Root) Join(ctx context.Context, a *service.Access, userID, groupID string) error {
	return r.changeMembership(ctx, a, userID, groupID, provider.MembershipChange{Add: []string{groupID}})
}

// Leave takes a user out of one group, in which they need not be.
func (r *Root) Leave(ctx context.Context, a *service.Access, userID, groupID string) error {
	return r.changeMembership(ctx, a, userID, groupID, provider.MembershipChange{Remove: []string{groupID}})
}

func (r *Root) changeMembership(ctx context.Context, a *service.Access, userID, groupID string, change provider.MembershipChange) error {
	if err := r.BareUser(ctx, a.Org.ID, "id", userID); err != nil {
		return err
	}
	if err := r.bare(ctx, a.Org.ID, "groupId", authz.SubjectGroup, groupID); err != nil {
		return err
	}
	return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
		if len(change.Add) > 0 {
			if err := r.mayJoin(ctx, a, to, userID, change.Add); err != nil {
				return err
			}
		}
		return to.Relay.ChangeGroupMembership(ctx, userID, change, a.Caller.Provenance())
	})
}

// SetActive counts from the next gate on, whether or not the root can be asked then.
// Inactive makes an owner only an owner, and never the last one who can act.
func (r *Root) SetActive(ctx context.Context, a *service.Access, userID string, active bool) error {
	if err := r.BareUser(ctx, a.Org.ID, "id", userID); err != nil {
		return err
	}
	write := func(ctx context.Context) error {
		return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
			return to.Relay.SetUserActive(ctx, userID, active, a.Caller.Provenance())
		})
	}
	var err error
	if active {
		if err := r.mayRestore(ctx, a, userID); err != nil {
			return err
		}
		err = write(ctx)
	} else {
		err = r.account.TakeFrom(ctx, a, userID, "user.set_active", write)
	}
	r.drop(a.Org.ID) // also when nobody knows whether it was done
	if err == nil {
		r.account.NoteActive(ctx, a.Org.ID, userID, active)
	}
	return err
}

// SetManager sets a user's manager; "" clears the edge.
func (r *Root) SetManager(ctx context.Context, a *service.Access, userID, managerUserID string, match Match) error {
	if err := r.BareUser(ctx, a.Org.ID, "id", userID); err != nil {
		return err
	}
	if err := r.BareUser(ctx, a.Org.ID, "managerUserId", managerUserID); err != nil {
		return err
	}
	return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
		if err := matchUser(ctx, to, userID, match); err != nil {
			return err
		}
		if err := r.mayReport(ctx, a, to, userID, managerUserID); err != nil {
			return err
		}
		return to.Relay.SetReportingEdge(ctx, userID, managerUserID, a.Caller.Provenance())
	})
}

// Edge says who reports to whom.
type Edge struct {
	UserID        string `json:"userId"`
	ManagerUserID string `json:"managerUserId"`
}

// ReportingEdges lists the reporting tree by user id.
func (r *Root) ReportingEdges(ctx context.Context, a *service.Access, p Page) (List[Edge], error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (List[Edge], error) {
		edges, err := to.Relay.GetReportingEdges(ctx)
		if err != nil {
			return List[Edge]{}, err
		}
		list := make([]Edge, 0, len(edges))
		for user, manager := range edges {
			list = append(list, Edge{user, manager})
		}
		return inMemory(list, p, func(e Edge) string { return e.UserID }), nil
	})
}
