package orgroot

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

const (
	maxListedUsers = 100 // a page of users costs a closure each
	atOnce         = 8
)

// UserList is a page of users. Complete tells that there are no others.
type UserList struct {
	List[User]
	Complete bool
}

// Users lists users by id, of one activity unless active is nil: those stored at a hosted
// root, else those whom the root's rows name. There may be others then: a linked root has
// no list of users. Such a page has at most 100.
func (r *Root) Users(ctx context.Context, a *service.Access, active *bool, p Page) (l UserList, err error) {
	err = r.atRoot(ctx, a.Org.ID, func(to applications.Asked) (err error) {
		if l.Complete = to.Hosted(); l.Complete {
			l.List, err = r.storedUsers(ctx, a.Org.ID, active, p)
			return err
		}
		l.List, err = namedUsers(ctx, to, active, p)
		return err
	})
	return l, err
}

func (r *Root) storedUsers(ctx context.Context, org string, active *bool, p Page) (List[User], error) {
	stored, err := taken(r.apps.StoredUsers(ctx, org, active, provider.Paging{After: p.After, Limit: p.Limit + 1}), p)
	if err != nil {
		return List[User]{}, err
	}
	users := make([]User, len(stored))
	for i, u := range stored {
		users[i] = User{UserID: u.UserID, Active: u.Active}
	}
	return cut(users, p, func(u User) string { return u.UserID }), nil
}

// namedUsers is a page of those whom the rows name.
func namedUsers(ctx context.Context, to applications.Asked, active *bool, p Page) (List[User], error) {
	p.Limit = min(p.Limit, maxListedUsers)
	ids, err := named(ctx, to)
	if err != nil {
		return List[User]{}, err
	}
	from, found := slices.BinarySearch(ids, p.After)
	if found {
		from++
	}
	ids = ids[from:]
	l := List[User]{Rows: []User{}}
	// Of users that the filter leaves out one page is looked at and no more.
	page := ids[:min(len(ids), p.Limit)]
	users, err := activity(ctx, to, page)
	if err != nil {
		return List[User]{}, err
	}
	for _, u := range users {
		if active == nil || u.Active == *active {
			l.Rows = append(l.Rows, u)
		}
	}
	if len(ids) > len(page) {
		l.Next = page[len(page)-1]
	}
	return l, nil
}

// named are the ids of users in grants, revokes, memberships, reporting edges and
// requests, ascending.
func named(ctx context.Context, to applications.Asked) ([]string, error) {
	ids := map[string]bool{}
	for g, err := range to.Relay.ListGrants(ctx, provider.GrantQuery{}) {
		if err != nil {
			return nil, err
		}
		if kind, id, ok := authz.ParseSubject(g.Subject); ok && kind == authz.SubjectUser {
			ids[id] = true
		}
	}
	for v, err := range to.Relay.ListRevokes(ctx, provider.RevokeQuery{}) {
		if err != nil {
			return nil, err
		}
		ids[v.UserID] = true
	}
	var groups []string // read to the end first: what follows takes its own time
	for g, err := range to.Relay.ListGroups(ctx, provider.Paging{}) {
		if err != nil {
			return nil, err
		}
		groups = append(groups, g.ID)
	}
	for _, group := range groups {
		members, err := to.Relay.GetGroupMembers(ctx, group)
		if err != nil {
			return nil, err
		}
		for _, id := range members {
			ids[id] = true
		}
	}
	edges, err := to.Relay.GetReportingEdges(ctx)
	if err != nil {
		return nil, err
	}
	for user, manager := range edges {
		ids[user], ids[manager] = true, true
	}
	for q, err := range to.Relay.ListRequests(ctx, provider.RequestQuery{}) {
		if err != nil {
			return nil, err
		}
		ids[q.RequesterUserID] = true
	}
	delete(ids, "")
	return slices.Sorted(maps.Keys(ids)), nil
}

// activity reads a closure for each user.
func activity(ctx context.Context, to applications.Asked, ids []string) ([]User, error) {
	users := make([]User, len(ids))
	err := eightAtATime(ctx, len(ids), func(ctx context.Context, i int) error {
		rows, err := to.Relay.GetSubjectAccess(ctx, authz.UserPrincipal(ids[i]))
		users[i] = User{UserID: ids[i], Active: rows.Active}
		return err
	})
	if err != nil {
		return nil, failed(err)
	}
	return users, nil
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
