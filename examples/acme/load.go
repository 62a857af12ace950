package acme

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

// Target is the host to load into: the provider API of the application, and its
// local administration socket, which alone serves importDirectory. Both must be
// on this machine's clock: expiries are computed here.
type Target struct {
	Provider *provider.Caller
	Local    func(ctx context.Context, op string, params, result any) error
}

// Loaded says under which ids the host keeps the rows of a world.
type Loaded struct {
	GrantIDs  []string // by index in World.Grants
	RevokeIDs []string // by index in World.Revokes

	// AlreadyThere reports that nothing had to be written.
	AlreadyThere bool

	expiresAt int64 // when the last expiring grant expires, 0 when none is known
}

// NotThisWorldError refuses to load beside a role of the same id that the sample
// did not put there. Nothing has been written.
type NotThisWorldError struct{ What string }

func (e *NotThisWorldError) Error() string {
	return "this application does not hold the sample world: " + e.What + "; load it into an empty application"
}

// Who the host's audit log names for the sample.
const (
	loaderID        = "acme-loader"
	directorySource = "acme-directory"
)

// Bounds of one call.
const (
	grantsPerCall     = 500
	scopesPerCall     = 1000
	concurrentRevokes = 8
)

// Load is Write and Settled.
func Load(ctx context.Context, target Target, w *World, progress func(done, total int, what string)) (*Loaded, error) {
	loaded, err := Write(ctx, target, w, progress)
	if err == nil {
		err = loaded.Settled(ctx)
	}
	if err != nil {
		return nil, err
	}
	return loaded, nil
}

// Write puts the world into a host through the host's own operations. What takes access
// away comes before what gives it: people with their deactivations, then folders, roles,
// revokes, and grants last. Everything stands in that order, so a load that
// stopped half-way is continued by calling Write again, and one that was complete
// writes nothing. Rows that are not the sample's are left alone. The grants that are to
// expire do so soon after; until then they allow what the world denies.
//
// progress, if not nil, is told how much of one kind is done; its calls never
// overlap. Errors are those of the calls, with what was being loaded, and
// *NotThisWorldError.
func Write(ctx context.Context, target Target, w *World, progress func(done, total int, what string)) (*Loaded, error) {
	l := &load{target: target, world: w, provenance: authz.AdminProvenance(loaderID), progress: progress,
		loaded: Loaded{GrantIDs: make([]string, len(w.Grants)), RevokeIDs: make([]string, len(w.Revokes))}}
	for _, step := range []struct {
		what string
		run  func(context.Context) error
	}{
		{"look at what is there", l.survey},
		{"load people", l.people},
		{"load folders and documents", l.scopes},
		{"load roles", l.roles},
		{"load revokes", l.revokes},
		{"load grants", l.grants},
	} {
		if err := step.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return &l.loaded, nil
}

type load struct {
	target     Target
	world      *World
	provenance authz.Provenance
	loaded     Loaded

	hasRole map[string]bool

	telling  sync.Mutex
	progress func(done, total int, what string)
}

func (l *load) tell(done, total int, what string) {
	if l.progress == nil {
		return
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	l.progress(done, total, what)
}

func (l *load) people(ctx context.Context) error {
	if l.loaded.AlreadyThere {
		return nil
	}
	total := len(l.world.Users)
	l.tell(0, total, "people")
	params := struct {
		Snapshot directory.Snapshot `json:"snapshot"`
		Source   string             `json:"source"`
	}{l.world.snapshot(), directorySource}
	var result directory.Result
	if err := l.target.Local(ctx, "importDirectory", params, &result); err != nil {
		return err
	}
	if len(result.Warnings) > 0 {
		return fmt.Errorf("the directory import warns: %s", result.Warnings[0])
	}
	l.tell(total, total, "people")
	return nil
}

// snapshot is the company as its directory would hand it over.
func (w *World) snapshot() directory.Snapshot {
	s := directory.Snapshot{Memberships: map[string][]string{}, ReportingEdges: map[string]string{}, Orgs: map[string][]string{}}
	for _, g := range w.Groups {
		s.Groups = append(s.Groups, directory.Group{ID: g.ID, Name: g.Name, Description: g.Description, Parents: g.Parents})
	}
	for _, u := range w.Users {
		s.Users = append(s.Users, directory.User{UserID: u.UserID, Active: &u.Active})
		if len(u.GroupIDs) > 0 {
			s.Memberships[u.UserID] = u.GroupIDs
		}
		if len(u.OrgIDs) > 0 {
			s.Orgs[u.UserID] = u.OrgIDs
		}
		if u.ManagerUserID != "" {
			s.ReportingEdges[u.UserID] = u.ManagerUserID
		}
	}
	return s
}

func (l *load) scopes(ctx context.Context) error {
	if l.loaded.AlreadyThere {
		return nil
	}
	entries := make([]provider.ScopeParents, len(l.world.Scopes))
	for i, s := range l.world.Scopes {
		parents := append([]string{}, s.Parents...) // a root is an empty list, not null
		entries[i] = provider.ScopeParents{Scope: s.ID, Parents: &parents}
	}
	for done := 0; done < len(entries); {
		batch := entries[done:min(done+scopesPerCall, len(entries))]
		params := map[string]any{"entries": batch, "provenance": l.provenance}
		if err := l.target.Provider.Call(ctx, "setScopeParents", params, nil); err != nil {
			return err
		}
		done += len(batch)
		l.tell(done, len(entries), "folders and documents")
	}
	return nil
}

func (l *load) roles(ctx context.Context) error {
	for i, r := range l.world.Roles {
		if l.hasRole[r.ID] {
			continue
		}
		input := provider.RoleInput{ID: &r.ID, Name: r.Name, Description: r.Description, Patterns: r.Patterns}
		params := map[string]any{"input": input, "provenance": l.provenance}
		if err := l.target.Provider.Call(ctx, "createRole", params, nil); err != nil {
			return fmt.Errorf("role %s: %w", r.ID, err)
		}
		l.tell(i+1, len(l.world.Roles), "roles")
	}
	return nil
}

func (l *load) revokes(ctx context.Context) error {
	var missing []int
	for i, id := range l.loaded.RevokeIDs {
		if id == "" {
			missing = append(missing, i)
		}
	}
	total := len(l.world.Revokes)
	var counting sync.Mutex
	done := total - len(missing)
	// After a failure no call is begun, but those under way are finished: one that
	// is cut off may take effect after the next load has looked.
	var failed atomic.Bool
	var calls errgroup.Group
	calls.SetLimit(concurrentRevokes)
	for _, i := range missing {
		calls.Go(func() error {
			if failed.Load() {
				return nil
			}
			input := struct {
				provider.RevokeInput
				Provenance authz.Provenance `json:"provenance"`
			}{l.world.Revokes[i], l.provenance}
			var result struct{ Revoke authz.Revoke }
			if err := l.target.Provider.Call(ctx, "createRevoke", map[string]any{"input": input}, &result); err != nil {
				failed.Store(true)
				return fmt.Errorf("revoke %d: %w", i, err)
			}
			counting.Lock()
			defer counting.Unlock()
			l.loaded.RevokeIDs[i] = result.Revoke.ID
			done++
			l.tell(done, total, "revokes")
			return nil
		})
	}
	return calls.Wait()
}

// grants creates what is missing, the expiring rows last and in one call: they
// must all have been accepted before the first of them expires.
func (l *load) grants(ctx context.Context) error {
	var lasting, expiring []int
	for i, id := range l.loaded.GrantIDs {
		switch {
		case id != "":
		case l.world.Grants[i].Expiring():
			expiring = append(expiring, i)
		default:
			lasting = append(lasting, i)
		}
	}
	total := len(l.world.Grants)
	done := total - len(lasting) - len(expiring)
	for len(lasting) > 0 {
		batch := lasting[:min(grantsPerCall, len(lasting))]
		if err := l.createGrants(ctx, batch); err != nil {
			return err
		}
		lasting = lasting[len(batch):]
		done += len(batch)
		l.tell(done, total, "grants")
	}
	if len(expiring) > 0 {
		if err := l.createGrants(ctx, expiring); err != nil {
			return err
		}
		l.tell(total, total, "grants")
	}
	return nil
}

func (l *load) createGrants(ctx context.Context, indices []int) error {
	now := time.Now().UnixMilli()
	inputs := make([]provider.GrantInput, len(indices))
	for n, i := range indices {
		g := l.world.Grants[i]
		inputs[n] = g.GrantInput
		if g.Expiring() {
			inputs[n].ExpiresAt = authz.ExpiresAt(now + g.ExpiresInMs)
			l.loaded.expiresAt = max(l.loaded.expiresAt, now+g.ExpiresInMs)
		}
	}
	var result struct{ Grants []authz.Grant }
	if err := l.target.Provider.Call(ctx, "createGrants", map[string]any{"inputs": inputs, "provenance": l.provenance}, &result); err != nil {
		return err
	}
	if len(result.Grants) != len(indices) {
		return fmt.Errorf("createGrants answered %d rows for %d", len(result.Grants), len(indices))
	}
	for n, i := range indices {
		l.loaded.GrantIDs[i] = result.Grants[n].ID
	}
	return nil
}

// Settled returns in the first millisecond in which every expiring grant has expired: the
// host answers as the world says from then on.
func (l *Loaded) Settled(ctx context.Context) error {
	timer := time.NewTimer(time.Until(time.UnixMilli(l.expiresAt)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for grants to expire: %w", ctx.Err())
	case <-timer.C:
		return nil
	}
}
