package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/host/mesh/meshcases"
	"github.com/authzhost/authz/sdk/plugin"
)

// kinds are those that can be proved, in the order in which they are.
var kinds = []string{plugin.KindStorage, plugin.KindSink, plugin.KindImporter}

// allCases lists the cases of every kind in the order in which they run.
func allCases() []runner.Case {
	return slices.Concat(conformance.Cases(), meshcases.Cases(), sink.Cases(), importer.Cases())
}

// casesOf lists the cases of some kinds; nil is all.
func casesOf(chosen []string) ([]runner.Case, error) {
	for _, kind := range chosen {
		if !slices.Contains(kinds, kind) {
			return nil, usageError{fmt.Errorf("there is no kind %q: the kinds are %s", kind, strings.Join(kinds, ", "))}
		}
	}
	return slices.DeleteFunc(allCases(), func(c runner.Case) bool { return len(chosen) > 0 && !slices.Contains(chosen, c.Kind) }), nil
}

// found is what a plugin turned out to be, and what is to be proved of it.
type found struct {
	plugin  plugin.Description
	path    string
	served  []string // kinds that are proved
	storage *described
	notes   []string
	plan    runner.Plan
}

// find starts the plugin once to see what it serves, and plans to prove that.
func (l *launcher) find(ctx context.Context, f *runFlags) (found, error) {
	g, err := l.ground()
	if err != nil {
		return found{}, err
	}
	defer g.Close()
	p, err := g.launch(ctx, g.config)
	if err != nil {
		return found{}, err
	}
	d := found{plugin: p.plugin.Description(), path: p.plugin.Status().Path, plan: runner.Plan{Timeout: f.timeout, RoundsWithin: f.roundsWithin}}
	d.plan.Target, l.declared = d.plugin.Name, d.plugin.Settings
	p.end() // it may hold what the next one needs
	for _, kind := range d.plugin.Kinds {
		if slices.Contains(kinds, kind.Name) && (len(f.selection.kinds) == 0 || slices.Contains(f.selection.kinds, kind.Name)) {
			d.served = append(d.served, kind.Name)
		}
	}
	for _, kind := range f.selection.kinds {
		if !slices.Contains(d.served, kind) {
			return d, usageError{fmt.Errorf("the plugin serves no %s", kind)}
		}
	}
	if slices.Contains(d.served, plugin.KindStorage) {
		s, err := l.probe(ctx, f.partition)
		if err != nil {
			return d, notStarted(err)
		}
		d.storage, d.notes = &s, s.notes
		d.plan.Jobs = append(d.plan.Jobs, s.target.Plan().Jobs...)
		d.plan.Jobs = append(d.plan.Jobs, meshcases.Plan(s.target).Jobs...)
	}
	if slices.Contains(d.served, plugin.KindSink) {
		d.plan.Jobs = append(d.plan.Jobs, sink.Target{New: l.sinks, Patience: f.patience}.Plan().Jobs...)
	}
	if slices.Contains(d.served, plugin.KindImporter) {
		d.plan.Jobs = append(d.plan.Jobs, importer.Target{New: l.importers}.Plan().Jobs...)
	}
	if len(d.plan.Jobs) == 0 {
		return d, usageError{fmt.Errorf("the plugin serves nothing that can be proved: the kinds are %s", strings.Join(kinds, ", "))}
	}
	return d, nil
}
