package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
	"pgregory.net/rapid"
)

// write draws one write of one process; a refused one changes nothing.
func (w *staleWorld) write(p *process) {
	ctx, by, draw := context.Background(), authz.AdminProvenance("root"), w.T
	user := rapid.SampledFrom(staleUsers).Draw(draw, "user")
	group := rapid.SampledFrom(staleGroups).Draw(draw, "group")
	role := rapid.SampledFrom(staleRoles).Draw(draw, "role")
	pattern := rapid.SampledFrom(stalePatterns).Draw(draw, "pattern")
	scope := rapid.SampledFrom(staleScopes).Draw(draw, "scope")
	groups := rapid.SampledFrom([][]string{{}, {"g1"}, {"g2"}, {"g1", "g2"}}).Draw(draw, "groups")
	var err error
	switch op := rapid.SampledFrom([]string{"grant", "grant", "grant", "ungrant", "ungrant", "revoke", "unrevoke", "role", "update role",
		"delete role", "group", "parents", "membership", "membership", "active", "manager", "move", "move", "publish"}).Draw(draw, "write"); op {
	case "grant":
		in := provider.GrantInput{Subject: rapid.SampledFrom(staleSubjects).Draw(draw, "subject"), Scope: scope, Pattern: pattern}
		if rapid.Bool().Draw(draw, "by role") {
			in.Pattern, in.RoleID = "", role
		}
		if rapid.IntRange(0, 3).Draw(draw, "expires") == 0 {
			in.ExpiresAt = authz.ExpiresAt(w.now.Load() + 1000*int64(rapid.IntRange(1, 20).Draw(draw, "seconds")))
		}
		_, err = p.CreateGrant(ctx, in, by)
	case "ungrant":
		for g, listed := range w.truth.ListGrants(ctx, provider.GrantQuery{}) {
			if err = listed; err == nil {
				err = p.DeleteGrant(ctx, g.ID, by)
			}
			break
		}
	case "revoke":
		_, err = p.CreateRevoke(ctx, provider.RevokeInput{UserID: user, Pattern: pattern, Scope: scope}, by)
	case "unrevoke":
		for r, listed := range w.truth.ListRevokes(ctx, provider.RevokeQuery{}) {
			if err = listed; err == nil {
				err = p.DeleteRevoke(ctx, r.ID, by)
			}
			break
		}
	case "role":
		_, err = p.CreateRole(ctx, provider.RoleInput{ID: &role, Name: role, Patterns: []string{pattern}}, by)
	case "update role":
		_, err = p.UpdateRole(ctx, role, provider.RoleUpdate{Patterns: &[]string{pattern}}, by)
	case "delete role":
		err = p.DeleteRole(ctx, role, by)
	case "group":
		_, err = p.CreateGroup(ctx, provider.GroupInput{ID: &group, Name: group}, by)
	case "parents":
		_, err = p.SetGroupParents(ctx, group, slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return g == group }), by)
	case "membership":
		err = p.SetGroupMembership(ctx, user, groups, by)
	case "active":
		err = p.SetUserActive(ctx, user, rapid.Bool().Draw(draw, "active"), by)
	case "manager":
		err = p.SetReportingEdge(ctx, user, rapid.SampledFrom([]string{"", "u1", "u2"}).Draw(draw, "manager"), by)
	case "move":
		moved := rapid.SampledFrom(staleScopes[1:]).Draw(draw, "moved")
		w.mu.Lock()
		w.parents[moved] = rapid.SampledFrom([][]string{nil, {"docs.folder:1"}, {"docs.folder:2"}, {"docs.folder:1", "docs.folder:2"}}).Draw(draw, "to")
		w.mu.Unlock()
		err = p.NotifyScopeMoved(ctx, moved)
	case "publish":
		_, err = p.PublishCatalog(ctx, w.document, by)
	}
	var refused *authz.WriteRejectedError
	var cycle *authz.GraphCycleError
	if err != nil && !errors.As(err, &refused) && !errors.As(err, &cycle) {
		w.Fatal(err)
	}
}

func (w *staleWorld) step() {
	switch what := rapid.SampledFrom([]string{"write", "write", "write", "write", "clock", "clock", "log", "supply", "prune", "ask"}).Draw(w.T, "step"); what {
	case "write":
		p := w.processes[rapid.IntRange(0, 1).Draw(w.T, "writer")]
		p.heard = nil
		w.write(p)
		w.record(p)
	case "clock":
		by := rapid.SampledFrom([]int64{1, 1, 300, 900, 2000, 4999, 5001, 8000, 31_000, 61_000, -1, -3000, -40_000}).Draw(w.T, "ms")
		w.now.Add(by)
		w.steppedBack = w.steppedBack || by < 0
		w.record(nil)
	case "log":
		w.failing = rapid.Bool().Draw(w.T, "unreadable")
		w.late = w.late || w.failing && w.contacted == 0
		for _, p := range w.processes {
			p.epochFail.Store(w.failing)
		}
		w.record(nil)
	case "supply":
		w.processes[rapid.IntRange(0, 1).Draw(w.T, "process")].subjectFail.Store(rapid.IntRange(0, 3).Draw(w.T, "unreadable") == 0)
	case "prune":
		keep := int64(rapid.IntRange(0, 2).Draw(w.T, "keep"))
		if _, err := w.store.PruneEvents(context.Background(), storage.PruneEvents{KeepRows: &keep}); err != nil {
			w.Fatal(err)
		}
	}
	for n := range w.processes {
		for range rapid.IntRange(2, 6).Draw(w.T, "questions") {
			w.ask(n, rapid.SampledFrom(stalePrincipals).Draw(w.T, "who"), rapid.SampledFrom([]string{"docs.files.read", "docs.files.delete"}).Draw(w.T, "key"),
				rapid.SampledFrom(staleScopes).Draw(w.T, "where"), rapid.SampledFrom([]string{"can", "can", "can", "snapshot", "fresh"}).Draw(w.T, "shape"))
		}
	}
	if !w.failing && w.contacted == 0 {
		w.contacted = w.now.Load()
	}
}

// hostileStore answers what it likes of what it was ever given: other keys'
// values, old ones, parts, nothing, errors.
type hostileStore struct {
	mu      sync.Mutex
	turn    int
	entries map[string][]string
}

func (s *hostileStore) Get(_ context.Context, key string) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	own := s.entries[key]
	if len(own) == 0 {
		own = []string{""}
	}
	newest := own[len(own)-1]
	switch s.turn % 8 {
	case 0:
		return "", false, errSwitchedOff
	case 1:
		return own[0], true, nil
	case 2:
		for _, other := range s.entries {
			return other[len(other)-1], true, nil
		}
	case 3:
		return newest[:len(newest)/2], true, nil
	case 4:
		return `{"v":1,"seq":1,"freshUntil":1800000000000}`, true, nil
	case 5:
		panic("store")
	}
	return newest, true, nil
}

func (s *hostileStore) Set(_ context.Context, key, value string, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn++; s.turn%5 == 0 {
		return fmt.Errorf("full: %w", errSwitchedOff)
	}
	s.entries[key] = append(s.entries[key], value)
	return nil
}

func (s *hostileStore) Delete(context.Context, string) error { return nil }
