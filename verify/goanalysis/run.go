package goanalysis

import (
	"context"
	"maps"
	"os"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/goanalysis/internal/routes"
)

// judgeAll judges packages, those that others import first, and settles what single
// packages leave open. The error is a *LoadError for the first package that has one.
func judgeAll(ctx context.Context, loaded []*packages.Package, checkerFor func(*packages.Package) (*Checker, error)) (*Judged, error) {
	return judgeEach(ctx, loaded, checkerFor, func(*Facts) {})
}

// judgeEach is judgeAll that also hands out the facts of each package.
func judgeEach(ctx context.Context, loaded []*packages.Package, checkerFor func(*packages.Package) (*Checker, error), told func(*Facts)) (*Judged, error) {
	loaded = slices.DeleteFunc(slices.Clone(loaded), func(pkg *packages.Package) bool {
		return isTestMain(pkg.Name, pkg.PkgPath, pkg.Fset, pkg.Syntax)
	})
	for _, pkg := range loaded {
		if len(pkg.Errors) > 0 {
			return nil, &LoadError{pkg.PkgPath, pkg.Errors}
		}
	}
	files := map[*packages.Package][]File{}
	facts := map[string]*Facts{}
	out := &Judged{}
	var public func(method, path string) bool
	for _, pkg := range belowFirst(loaded) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		checker, err := checkerFor(pkg)
		if err != nil {
			return nil, err
		}
		said, own, tally, err := checker.check(Package{
			Fset: pkg.Fset, Files: pkg.Syntax, Ignored: pkg.IgnoredFiles, Info: pkg.TypesInfo, ReadFile: os.ReadFile,
			Types: pkg.Types, Below: factsBelow(pkg, facts),
		})
		if err != nil {
			return nil, err
		}
		files[pkg] = said
		if _, again := facts[pkg.PkgPath]; again {
			continue // the variant without its tests
		}
		facts[pkg.PkgPath] = own
		out.Tally.add(tally)
		if own != nil {
			public = checker.public
			told(own)
		}
	}
	seen := map[string]bool{}
	for _, pkg := range loaded {
		for _, file := range files[pkg] {
			if !seen[file.Report.File] {
				seen[file.Report.File] = true
				out.Reports = append(out.Reports, file.Report)
			}
		}
	}
	out.settle(facts, public)
	return out, nil
}

// settle counts routes by all that is known, and reports those that nothing serves.
func (o *Judged) settle(byPath map[string]*Facts, public func(method, path string) bool) {
	var all []*Facts
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		if byPath[path] != nil {
			all = append(all, byPath[path])
		}
	}
	world := routes.Resolve(public, all...)
	named := map[string]bool{}
	for _, f := range all {
		for i := range f.Routes {
			r := &f.Routes[i]
			named[r.Key] = true
			switch world.Status(r) {
			case routes.Gated:
				o.Tally.Gated += max(1, r.Count)
			case routes.Exempt:
				o.Tally.Exempt += max(1, r.Count)
			case routes.Ungated:
				o.Tally.Findings++
				if !r.Told() {
					o.add(r.Place, ungatedRoute(r))
				}
			case routes.NotFollowed:
				o.Tally.NotFollowed += r.Count
				if !r.Told() {
					o.add(r.Place, notFollowed(r))
				}
			case routes.Open:
				o.Tally.NotFollowed += max(1, r.Count)
				o.add(r.Place, unserved(r))
			}
		}
	}
	for _, f := range all {
		for _, h := range f.Handlers {
			switch {
			case named[h.Key] || helper(h.Key, all):
			case h.Exempt:
				o.Tally.Exempt++
			default:
				o.Tally.NotFollowed++
				o.add(h.Place, unregistered(h.Name))
			}
		}
	}
}

// add reports what no single package could tell.
func (o *Judged) add(at routes.Place, message string) {
	i := slices.IndexFunc(o.Reports, func(r verify.FileReport) bool { return r.File == at.File })
	if i < 0 {
		return
	}
	f := verify.Finding{Severity: authz.SeverityError, Rule: verify.RuleUngatedAction, File: at.File, Line: at.Line, Column: at.Column, Message: message}
	o.Reports[i].Findings = append(o.Reports[i].Findings, f)
}

// belowFirst sorts packages so that each follows those that it imports.
func belowFirst(loaded []*packages.Package) []*packages.Package {
	mine := map[*packages.Package]bool{}
	for _, pkg := range loaded {
		mine[pkg] = true
	}
	sorted := slices.Clone(loaded)
	byPath(sorted)
	var out []*packages.Package
	seen := map[*packages.Package]bool{}
	var visit func(pkg *packages.Package)
	visit = func(pkg *packages.Package) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		for _, path := range slices.Sorted(maps.Keys(pkg.Imports)) {
			visit(pkg.Imports[path])
		}
		if mine[pkg] {
			out = append(out, pkg)
		}
	}
	for _, pkg := range sorted {
		visit(pkg)
	}
	return out
}

// factsBelow are the facts of what a package imports, directly or not.
func factsBelow(pkg *packages.Package, facts map[string]*Facts) map[string]*Facts {
	found := map[string]*Facts{}
	seen := map[*packages.Package]bool{pkg: true}
	var visit func(pkg *packages.Package)
	visit = func(pkg *packages.Package) {
		for _, one := range pkg.Imports {
			if seen[one] {
				continue
			}
			seen[one] = true
			if f := facts[one.PkgPath]; f != nil {
				found[one.PkgPath] = f
			}
			visit(one)
		}
	}
	visit(pkg)
	return found
}
