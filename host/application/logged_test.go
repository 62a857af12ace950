package application_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// logged is what the audit log says is stored: rows with the members that entries
// have. Of a directory import the log has counts only.
type logged struct {
	entries  int
	grants   map[string]string // tuple by id
	revokes  map[string]string
	roles    map[string]string // name by id
	groups   map[string]*loggedGroup
	users    map[string]*loggedUser
	scopes   map[string]string // parents
	versions map[string]int64
	copies   map[string]int // made so far by a dissolution, by child
	requests map[string]*loggedRequest
	asked    string // the request that the entry before was about
}

type loggedRequest struct {
	line  string
	state authz.RequestState
}

// loggedGroup: the parents of a new group are not in its entry; nil is unknown.
type loggedGroup struct {
	name    string
	parents *[]string
}

type loggedUser struct {
	active  bool
	groups  []string
	manager string
}

func newLogged() *logged {
	return &logged{grants: map[string]string{}, revokes: map[string]string{}, roles: map[string]string{}, groups: map[string]*loggedGroup{},
		users: map[string]*loggedUser{}, scopes: map[string]string{}, versions: map[string]int64{}, copies: map[string]int{}, requests: map[string]*loggedRequest{}}
}

// loggedDetail is the union of the details.
type loggedDetail struct {
	ID, Subject, RoleID, Pattern, Scope, UserID, Name, CopiedFrom string
	RequesterUserID                                               string
	ExpiresAt                                                     authz.Expiry
	Grants, Deleted, Changed, Created                             []loggedDetail
	Parents, GroupIDs                                             []string
	Active                                                        bool
	ManagerUserID                                                 string
	Version                                                       int64
	Entries                                                       []provider.ScopeParents
	Children                                                      []string
}

func tuple(subject, roleID, pattern, scope string, expires authz.Expiry) string {
	at, _ := expires.At()
	return fmt.Sprintf("%s|%s|%s|%s|%d", subject, roleID, pattern, scope, at)
}

func (d loggedDetail) tuple() string {
	return tuple(d.Subject, d.RoleID, d.Pattern, d.Scope, d.ExpiresAt)
}

func (l *logged) user(id string) *loggedUser {
	if l.users[id] == nil {
		l.users[id] = &loggedUser{active: true}
	}
	return l.users[id]
}

// sums are the actions whose details count what other entries say, or what resync
// reads.
var sums = []string{"subject.delete", "scope.delete", "reconcile.sweep", "directory.import", "directory.import_groups", "user.deactivate", "org.sync_applied", "org.authority_received"}

func (l *logged) apply(t *rapid.T, e authz.AuditEntry) {
	l.entries++
	asked := l.asked
	l.asked = ""
	var d loggedDetail
	switch {
	case slices.Contains(sums, e.Action):
		if e.Action == "subject.delete" {
			if id, ok := strings.CutPrefix(e.Target, "user:"); ok {
				delete(l.users, id)
			}
		}
		return
	case e.Detail != nil:
		if err := json.Unmarshal(e.Detail, &d); err != nil {
			t.Fatalf("the detail of %s: %v", e.Action, err)
		}
	}
	switch e.Action {
	case "grant.create":
		if d.CopiedFrom != "" {
			l.grants[e.Target] = l.nextCopy(d, e.At)
			return
		}
		l.grants[e.Target] = d.tuple()
		if e.Actor != root.ActorUserID { // who approves
			l.requests[asked].state = authz.RequestApproved
		}
	case "request.submit":
		l.requests[e.Target] = &loggedRequest{fmt.Sprintf("%s|%s|%s|%s", d.RequesterUserID, d.RoleID, d.Pattern, d.Scope), authz.RequestPending}
		l.asked = e.Target
	case "request.approved":
		l.asked = e.Target // the grant of a last stage follows
	case "request.denied":
		l.requests[e.Target].state = authz.RequestDenied
	case "request.cancel":
		if l.requests[e.Target].state = authz.RequestCancelled; d.RequesterUserID != "" {
			delete(l.requests, e.Target) // went with its requester
		}
	case "grant.create_bulk":
		for _, g := range d.Grants {
			l.grants[g.ID] = g.tuple()
		}
	case "grant.change":
		for _, g := range d.Deleted {
			remove(t, authz.AuditEntry{Action: e.Action, Target: g.ID}, l.grants)
		}
		for _, g := range slices.Concat(d.Changed, d.Created) {
			l.grants[g.ID] = g.tuple()
		}
	case "grant.delete":
		remove(t, e, l.grants)
	case "revoke.create":
		l.revokes[e.Target] = d.UserID + "|" + d.Pattern + "|" + d.Scope
	case "revoke.delete":
		remove(t, e, l.revokes)
	case "role.create", "role.update":
		l.roles[e.Target] = d.Name
	case "role.delete":
		delete(l.roles, e.Target)
	case "group.create":
		l.groups[e.Target] = &loggedGroup{name: d.Name}
	case "group.update":
		l.groups[e.Target].name = d.Name
	case "group.set_parents":
		l.groups[e.Target].parents = &d.Parents
	case "group.delete":
		l.dropGroup(e.Target, nil)
	case "group.dissolve_virtual_parent":
		l.dropGroup(e.Target, d.Children)
		clear(l.copies)
	case "user.set_groups":
		l.user(e.Target).groups = keepFirst(d.GroupIDs)
	case "user.set_active":
		l.user(e.Target).active = d.Active
	case "user.set_manager":
		if l.user(e.Target).manager = d.ManagerUserID; d.ManagerUserID != "" {
			l.user(d.ManagerUserID)
		}
	case "scope.set_parents":
		for _, s := range d.Entries {
			if delete(l.scopes, s.Scope); s.Parents != nil {
				l.scopes[s.Scope] = fmt.Sprint(*s.Parents)
			}
		}
	case "catalog.publish", "imports.publish":
		l.versions[e.Action] = d.Version
	default:
		t.Fatalf("the log has an action that nobody replays: %s", e.Action)
	}
}

// remove insists on the row: no deletion is recorded twice, or of nothing.
func remove(t *rapid.T, e authz.AuditEntry, from map[string]string) {
	if _, there := from[e.Target]; !there {
		t.Fatalf("%s of %s, which the log does not have", e.Action, e.Target)
	}
	delete(from, e.Target)
}

// nextCopy is the tuple of a grant that a dissolution copied: the originals come
// in order of id, those that had expired left out.
func (l *logged) nextCopy(d loggedDetail, at int64) string {
	n := l.copies[d.Subject]
	l.copies[d.Subject]++
	for _, id := range slices.Sorted(maps.Keys(l.grants)) {
		original, found := strings.CutPrefix(l.grants[id], "group:"+d.CopiedFrom+"|")
		if !found {
			continue
		}
		var expires int64
		_, _ = fmt.Sscan(original[strings.LastIndex(original, "|")+1:], &expires)
		if expires != 0 && expires <= at {
			continue
		}
		if n == 0 {
			return d.Subject + "|" + original
		}
		n--
	}
	return "a copy of nothing"
}

// dropGroup takes a group from members and children; children that inherit get
// its parents.
func (l *logged) dropGroup(id string, heirs []string) {
	gone := l.groups[id]
	delete(l.groups, id)
	for _, u := range l.users {
		u.groups = slices.DeleteFunc(u.groups, func(g string) bool { return g == id })
	}
	for child, g := range l.groups {
		if g.parents == nil {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(*g.parents), func(p string) bool { return p == id })
		if slices.Contains(heirs, child) {
			if gone.parents == nil {
				g.parents = nil
				continue
			}
			left = append(left, *gone.parents...)
		}
		left = keepFirst(left)
		g.parents = &left
	}
}

func keepFirst(list []string) (kept []string) {
	for _, v := range list {
		if !slices.Contains(kept, v) {
			kept = append(kept, v)
		}
	}
	return kept
}
