package goanalysis

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/verify/config"
	"github.com/authzhost/authz/verify/goanalysis/internal/routes"
)

// Survey is what a program puts before its routes, for a first configuration.
type Survey struct {
	Routers    map[string]int // registrations by framework
	Middleware []Middleware   // what looks like a gate first, then by count
}

// Middleware is a function that stands before routes.
type Middleware struct {
	Name  string // as go.routes.gates takes it
	Count int
	Gate  bool // a guess
	Known bool // it counts without being named
	Why   string
}

// Look surveys the packages that the patterns name in a folder. It needs neither a
// configuration nor a catalog.
func Look(ctx context.Context, dir string, patterns []string) (*Survey, error) {
	none, err := catalog.Build(catalog.Input{
		Namespaces:  []string{"none"},
		Permissions: []catalog.PermissionSet{catalog.Leaves(catalog.Key("none.none.none"))},
	})
	if err != nil {
		return nil, err
	}
	checker, err := New(Settings{Catalog: none, Dir: dir, Routes: &config.Routes{}})
	if err != nil {
		return nil, err
	}
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Mode: loadMode}, patterns...)
	if err != nil {
		return nil, err
	}
	byPath(loaded)
	var all []*routes.Facts
	_, err = judgeEach(ctx, loaded, func(*packages.Package) (*Checker, error) { return checker, nil }, func(f *Facts) { all = append(all, f) })
	if err != nil {
		return nil, err
	}
	s := &Survey{Routers: map[string]int{}}
	seen, refuses, gates := map[string]int{}, map[string]bool{}, map[string]bool{}
	for _, f := range all {
		for name, n := range f.Routers {
			s.Routers[name] += n
		}
		for name, n := range f.Seen {
			seen[name] += n
		}
		for _, name := range f.Refuses {
			refuses[name] = true
		}
		for _, name := range f.Gates {
			gates[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		m := Middleware{Name: name, Count: seen[name]}
		switch {
		case ownMiddleware[name]:
			m.Known, m.Why = true, "authz's own: it counts without being named"
		case gates[name]:
			m.Known, m.Why = true, "asks the client itself: it counts without being named"
		case refuses[name]:
			m.Gate, m.Why = true, "it answers 401 or 403"
		case !strings.Contains(name, "."):
			m.Why = "a variable or a field, which is not looked into"
		default:
			m.Why = "it refuses nobody that can be seen"
		}
		s.Middleware = append(s.Middleware, m)
	}
	slices.SortStableFunc(s.Middleware, func(a, b Middleware) int {
		if a.Gate != b.Gate {
			if a.Gate {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Count, a.Count)
	})
	return s, nil
}
