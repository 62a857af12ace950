package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// all runs the cases that keep says and expects that none fails or is skipped.
func all(t *testing.T, target conformance.Target, keep func(conformance.Case) bool) {
	t.Helper()
	selected := conformance.Selection{Parallel: 2}
	for _, c := range conformance.Cases() {
		if keep(c) {
			selected.IDs = append(selected.IDs, c.ID)
		}
	}
	for _, r := range conformance.Check(t.Context(), target, selected, nil).Results {
		if keep(r.Case) && r.Outcome != conformance.Passed {
			t.Errorf("%s %s %s\n%v", r.Case.ID, r.Outcome, r.Reason, r.Failure)
		}
	}
}

// The memory driver's own test runs every case; these run what its target cannot.

func TestProcessesThatAreKilledAndStopped(t *testing.T) {
	all(t, processTarget(nil), func(c conformance.Case) bool {
		return slices.Contains(c.Needs, string(conformance.Kill)) || slices.Contains(c.Needs, string(conformance.Freeze))
	})
}

// A backend that cannot be cleaned up leaves processes or rows behind.
func TestABackendThatDoesNotCloseFailsItsCase(t *testing.T) {
	target := conformance.Target{Name: "leaking", Unpartitioned: true,
		New: func(context.Context, conformance.Options) (conformance.Backend, error) {
			return leaking{memory.NewBackend(memory.Options{}).Driver}, nil
		}}
	for _, r := range conformance.Check(t.Context(), target, conformance.Selection{IDs: []string{"B01"}}, nil).Results {
		if r.Outcome != conformance.Failed || !strings.Contains(r.Failure.Got, "it leaks") {
			t.Errorf("%s %s\n%v", r.Case.ID, r.Outcome, r.Failure)
		}
	}
}

type leaking struct{ connects }

func (leaking) Close() error { return errors.New("it leaks") }

// A database that lets nobody read while a process is stopped shows nothing.
func TestNoAnswerIsNoPass(t *testing.T) {
	var stopped atomic.Bool
	target := processTarget(func(d storage.Driver) storage.Driver {
		return &driver{d, func(s *store) {
			s.getRole = func(ctx context.Context, id string) (authz.Role, bool, error) {
				if stopped.Load() {
					return authz.Role{}, false, storage.Unavailable("", nil, "locked")
				}
				return s.Store.GetRole(ctx, id)
			}
		}}
	})
	made := target.New
	target.New = func(ctx context.Context, o conformance.Options) (conformance.Backend, error) {
		b, err := made(ctx, o)
		return locking{b.(processes), &stopped}, err
	}
	for _, r := range conformance.Check(t.Context(), target, conformance.Selection{IDs: []string{"B25f"}}, nil).Results {
		if r.Outcome != conformance.Skipped {
			t.Errorf("%s %s\n%v", r.Case.ID, r.Outcome, r.Failure)
		}
	}
}

type locking struct {
	processes
	stopped *atomic.Bool
}

func (l locking) Stop(d storage.Driver) error {
	l.stopped.Store(true)
	return l.processes.Stop(d)
}

func (l locking) Continue(d storage.Driver) error {
	l.stopped.Store(false)
	return l.processes.Continue(d)
}

// A database that cases share gives each of them partitions of its own.
func TestSharedBackend(t *testing.T) {
	shared := memory.NewBackend(memory.Options{Lease: 3 * time.Second})
	all(t, conformance.Target{Name: "shared memory", SeparateProcesses: true, Prefix: "p",
		New: func(context.Context, conformance.Options) (conformance.Backend, error) {
			return connects(shared.Driver), nil
		}},
		func(c conformance.Case) bool {
			return c.Suite == conformance.SuiteIsolation && c.ID != "I24" && c.ID != "I26"
		})
}
