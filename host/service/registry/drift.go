package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// Source is an application that is asked for drift.
type Source struct {
	ID          string
	Application Rows
}

// Rows is what is asked of an application. Its errors are *fault.Error.
type Rows interface {
	Capabilities(ctx context.Context) (provider.Capabilities, error)
	ListRoles(ctx context.Context, p provider.Paging) iter.Seq2[authz.Role, error]
	ListGrants(ctx context.Context, q provider.GrantQuery) iter.Seq2[authz.Grant, error]
	GetPublishedImports(ctx context.Context) (*provider.PublishedImports, error)
}

// Reason says why a pattern names nothing.
type Reason string

// The reasons of Missing.
const (
	Tombstoned  Reason = "tombstoned"
	Unpublished Reason = "unpublished"
)

// Missing is a pattern that matches no published key. Since is the instant of the
// tombstone.
type Missing struct {
	Pattern string `json:"pattern"`
	Reason  Reason `json:"reason"`
	Since   *int64 `json:"since,omitempty"`
}

// RoleDrift is a role with patterns that match no published key.
type RoleDrift struct {
	Application string    `json:"application"`
	RoleID      string    `json:"roleId"`
	Name        string    `json:"name"`
	Missing     []Missing `json:"missing"`
}

// GrantDrift is an unexpired grant of a pattern that matches no published key.
type GrantDrift struct {
	Application string    `json:"application"`
	GrantID     string    `json:"grantId"`
	Subject     string    `json:"subject"`
	Scope       string    `json:"scope"`
	Missing     []Missing `json:"missing"`
}

// ImportDrift is an import of what another application has tombstoned.
type ImportDrift struct {
	Application  string `json:"application"`
	Namespace    string `json:"namespace"`
	Pattern      string `json:"pattern"`
	TombstonedAt int64  `json:"tombstonedAt"`
	Message      string `json:"message"`
}

// Unavailable is an application that could not be asked, with the code of why.
type Unavailable struct {
	Application string `json:"application"`
	Code        string `json:"code"`
}

// Drift is the answer of GET registry/drift (spec: hosted-api §12).
type Drift struct {
	GeneratedAt int64         `json:"generatedAt"`
	Roles       []RoleDrift   `json:"roles"`
	Grants      []GrantDrift  `json:"grants"`
	Imports     []ImportDrift `json:"imports"`
	Unavailable []Unavailable `json:"unavailable"`
}

const (
	// driftTime leaves the answer of 30 s room for what was found.
	driftTime   = 20 * time.Second
	driftAtOnce = 8
)

// Drift asks every linked application, and compares with the heads of the
// registry. An application that cannot be asked is listed and contributes nothing.
func (r *Registry) Drift(ctx context.Context, org string) (Drift, error) {
	sources, err := r.applications.Sources(ctx, org)
	if err != nil {
		return Drift{}, err
	}
	published := &published{now: r.store.Now(ctx), namespaces: map[string]history{}}
	for row, err := range heads.All(ctx, r.store, org) {
		if err != nil {
			return Drift{}, err
		}
		if published.namespaces[row.ID], err = r.standing(ctx, org, row.ID, row.Value.Version); err != nil {
			return Drift{}, err
		}
	}
	asking, cancel := context.WithTimeout(ctx, driftTime)
	defer cancel()
	found := make([]Drift, len(sources))
	var all sync.WaitGroup
	slots := make(chan struct{}, driftAtOnce)
	for i, source := range sources {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			drift, err := published.ask(asking, source)
			if err != nil {
				drift = Drift{Unavailable: []Unavailable{{source.ID, codeOf(err)}}}
			}
			found[i] = drift
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return Drift{}, fault.Internal(err)
	}
	sum := Drift{GeneratedAt: published.now, Roles: []RoleDrift{}, Grants: []GrantDrift{}, Imports: []ImportDrift{}, Unavailable: []Unavailable{}}
	for _, d := range found {
		sum.Roles, sum.Grants = append(sum.Roles, d.Roles...), append(sum.Grants, d.Grants...)
		sum.Imports, sum.Unavailable = append(sum.Imports, d.Imports...), append(sum.Unavailable, d.Unavailable...)
	}
	return sum, nil
}

func codeOf(err error) string {
	if coded, ok := errors.AsType[*fault.Error](err); ok && coded.Code != "" {
		return coded.Code
	}
	return "application_error"
}

// published is what the heads of an org hold. Applications are asked at the same
// time, and their rows name few patterns many times.
type published struct {
	now        int64
	namespaces map[string]history
	judged     sync.Map // pattern to *Missing, nil when it names something
}

func (p *published) ask(ctx context.Context, s Source) (Drift, error) {
	var d Drift
	for role, err := range s.Application.ListRoles(ctx, provider.Paging{}) {
		if err != nil {
			return Drift{}, err
		}
		var missing []Missing
		for _, pattern := range role.Patterns {
			if m, drifts := p.missing(pattern); drifts {
				missing = append(missing, m)
			}
		}
		if missing != nil {
			d.Roles = append(d.Roles, RoleDrift{s.ID, role.ID, role.Name, missing})
		}
	}
	for grant, err := range s.Application.ListGrants(ctx, provider.GrantQuery{}) {
		if err != nil {
			return Drift{}, err
		}
		if grant.Pattern == "" || grant.ExpiresAt.Expired(p.now) {
			continue
		}
		if m, drifts := p.missing(grant.Pattern); drifts {
			d.Grants = append(d.Grants, GrantDrift{s.ID, grant.ID, grant.Subject, grant.Scope, []Missing{m}})
		}
	}
	able, err := s.Application.Capabilities(ctx)
	if err != nil || !able.Imports {
		return d, err
	}
	imports, err := s.Application.GetPublishedImports(ctx)
	if err != nil || imports == nil {
		return d, err
	}
	d.Imports, err = p.imports(s.ID, imports)
	return d, err
}

func (p *published) missing(pattern string) (Missing, bool) {
	verdict, judged := p.judged.Load(pattern)
	if !judged {
		var missing *Missing
		if m, drifts := p.judge(pattern); drifts {
			missing = &m
		}
		verdict, _ = p.judged.LoadOrStore(pattern, missing)
	}
	if m := verdict.(*Missing); m != nil {
		return *m, true
	}
	return Missing{}, false
}

// judge looks a pattern up. "*" and what no application can register name no
// published vocabulary.
func (p *published) judge(pattern string) (Missing, bool) {
	ns := authz.NamespaceOf(pattern)
	if ns == "" || Reserved(ns) {
		return Missing{}, false
	}
	h := p.namespaces[ns]
	if !authz.IsWildcard(pattern) && h.keys[pattern] {
		return Missing{}, false
	}
	if authz.IsWildcard(pattern) {
		for key := range h.keys {
			if authz.Match(pattern, key) {
				return Missing{}, false
			}
		}
	}
	var since *int64
	for _, t := range h.tombstones {
		if authz.Match(pattern, t.Key) && (since == nil || t.TombstonedAt > *since) {
			since = &t.TombstonedAt
		}
	}
	if since == nil {
		return Missing{Pattern: pattern, Reason: Unpublished}, true
	}
	return Missing{Pattern: pattern, Reason: Tombstoned, Since: since}, true
}

// imports looks at what a manifest declares and at the keys it was resolved to:
// a wildcard may still match while one of these is gone.
func (p *published) imports(application string, published *provider.PublishedImports) ([]ImportDrift, error) {
	patterns, err := imported(published.Manifest)
	if err != nil {
		return nil, fault.Transport("application_protocol_error", application, "", "the application's import manifest is malformed")
	}
	var found []ImportDrift
	for _, pattern := range patterns {
		if m, drifts := p.missing(pattern); drifts && m.Since != nil {
			found = append(found, ImportDrift{application, authz.NamespaceOf(pattern), pattern, *m.Since,
				fmt.Sprintf("Application %s imports %s, tombstoned %s.", spell.Quote(application), pattern, ago(p.now-*m.Since))})
		}
	}
	slices.SortFunc(found, func(a, b ImportDrift) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pattern, b.Pattern))
	})
	return found, nil
}

// imported are the patterns and keys of a manifest, each once.
func imported(manifest json.RawMessage) ([]string, error) {
	if _, err := catalog.CheckManifest(manifest); err != nil {
		return nil, err
	}
	var m struct {
		Imports []struct {
			Entries []struct {
				Pattern string `json:"pattern"`
			} `json:"entries"`
			Keys []string `json:"keys"`
		} `json:"imports"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, err
	}
	var patterns []string
	for _, i := range m.Imports {
		for _, e := range i.Entries {
			patterns = append(patterns, e.Pattern)
		}
		patterns = append(patterns, i.Keys...)
	}
	slices.Sort(patterns)
	return slices.Compact(patterns), nil
}

func ago(ms int64) string {
	switch days := ms / (24 * time.Hour).Milliseconds(); {
	case days < 1:
		return "today"
	case days == 1:
		return "1 day ago"
	default:
		return fmt.Sprintf("%d days ago", days)
	}
}
