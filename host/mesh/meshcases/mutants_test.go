package meshcases_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/host/mesh/meshcases"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

// mutant is the memory driver with one defect. Each of the cases named must catch it.
type mutant struct {
	name  string
	cases string // separated by blanks
	open  func(d storage.Driver) func(ctx context.Context, partition string) (storage.Store, error)
}

var mutants = []mutant{
	{"a partition is opened as another, which it says", "X03 X16 X19", func(d storage.Driver) func(context.Context, string) (storage.Store, error) {
		return func(ctx context.Context, partition string) (storage.Store, error) { return d.Open(ctx, "x"+partition) }
	}},
	{"all partitions are one, each called as it was asked for", "X11 X16 X23", func(d storage.Driver) func(context.Context, string) (storage.Store, error) {
		return func(ctx context.Context, partition string) (storage.Store, error) {
			s, err := d.Open(ctx, "one")
			return &broken{Store: s, called: partition}, err
		}
	}},
	{"a section of another connection keeps nobody waiting", "X12", breaking(func(b *broken) {
		var own sync.Map // by key
		b.acquire = func(ctx context.Context, key string) (storage.Section, error) {
			turn, _ := own.LoadOrStore(key, make(chan struct{}, 1))
			turn.(chan struct{}) <- struct{}{}
			return alone{key, turn.(chan struct{})}, nil
		}
		b.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			c.Fences = nil
			return b.Store.Commit(ctx, c)
		}
	})},
	{"a record is written over whatever version stands", "X14a", breaking(func(b *broken) {
		b.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			return b.Store.Commit(ctx, unconditional(ctx, b.Store, c))
		}
	})},
	{"the version of a record binds no commit", "X31", breaking(func(b *broken) {
		b.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			c.Requires = nil
			return b.Store.Commit(ctx, c)
		}
	})},
	{"commits lose their events", "X11 X25 X32", breaking(func(b *broken) {
		b.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			c.Events = nil
			return b.Store.Commit(ctx, c)
		}
	})},
	{"commits lose their audit entries", "X10 X16 X27 X30", breaking(func(b *broken) {
		b.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			c.Audit = nil
			return b.Store.Commit(ctx, c)
		}
	})},
	{"revokes are not supplied", "X21 X21a", breaking(func(b *broken) {
		b.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
			a, err := b.Store.ReadAccess(ctx, q)
			a.Revokes = nil
			return a, err
		}
	})},
}

func TestBrokenDriversAreCaught(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			plan := meshcases.Plan(over("mutant", func(o conformance.Options) (conformance.Backend, error) {
				b := memory.NewBackend(memory.Options{Lease: o.Lease})
				return inMemory(func() storage.Driver { d := b.Driver(); return opened{d, m.open(d)} }), nil
			}))
			selected := runner.Selection{IDs: strings.Fields(m.cases), Parallel: 2}
			for _, c := range plan.Cases() {
				if len(c.ID) > len("X01") && !slices.Contains(selected.IDs, c.ID) { // a variant of a case named
					selected.Skip = append(selected.Skip, c.ID)
				}
			}
			for _, r := range plan.Check(t.Context(), selected, nil).Results {
				switch {
				case r.Outcome != runner.Failed:
					t.Errorf("%s did not catch it: %s %s", r.Case.ID, r.Outcome, r.Reason)
				case r.Failure.Rule != r.Case.Rule || r.Failure.Where == "" || len(r.Failure.Steps) == 0 || r.Failure.Expected == "no panic":
					t.Errorf("%s says too little: %+v", r.Case.ID, r.Failure)
				default:
					t.Logf("%s caught it at %s: expected %.100q, got %.100q", r.Case.ID, r.Failure.Where, r.Failure.Expected, r.Failure.Got)
				}
			}
		})
	}
}

// Every code of a MeshError is what some case wants.
func TestEveryCodeIsProved(t *testing.T) {
	declared, err := os.ReadFile("../../../sdk/authz/mesh_error.go")
	if err != nil {
		t.Fatal(err)
	}
	var cases strings.Builder
	for _, name := range []string{"peers", "writes", "registry", "imports", "caches", "org", "promotion"} {
		text, err := os.ReadFile("cases_" + name + ".go")
		if err != nil {
			t.Fatal(err)
		}
		cases.Write(text)
	}
	judging := cases.String() + "authz.MeshVerifyFailed" // which world.found wants
	n := 0
	for line := range strings.Lines(string(declared)) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Contains(line, "MeshCode = ") {
			if n++; !strings.Contains(judging, "authz."+name) {
				t.Errorf("no case wants %s", name)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d codes read", n)
	}
}

// opened opens stores its own way.
type opened struct {
	storage.Driver
	open func(ctx context.Context, partition string) (storage.Store, error)
}

func (o opened) Open(ctx context.Context, partition string) (storage.Store, error) {
	return o.open(ctx, partition)
}

// breaking breaks every store.
func breaking(how func(*broken)) func(storage.Driver) func(context.Context, string) (storage.Store, error) {
	return func(d storage.Driver) func(context.Context, string) (storage.Store, error) {
		return func(ctx context.Context, partition string) (storage.Store, error) {
			s, err := d.Open(ctx, partition)
			if err != nil {
				return nil, err
			}
			b := &broken{Store: s}
			how(b)
			return b, nil
		}
	}
}

// broken is a store with a defect.
type broken struct {
	storage.Store
	called     string
	commit     func(context.Context, storage.Commit) (storage.CommitResult, error)
	acquire    func(context.Context, string) (storage.Section, error)
	readAccess func(context.Context, storage.AccessQuery) (storage.Access, error)
}

func (b *broken) Info() storage.StoreInfo {
	info := b.Store.Info()
	if b.called != "" {
		info.Partition = b.called
	}
	return info
}

func (b *broken) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if b.commit != nil {
		return b.commit(ctx, c)
	}
	return b.Store.Commit(ctx, c)
}

func (b *broken) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if b.acquire != nil {
		return b.acquire(ctx, key)
	}
	return b.Store.Acquire(ctx, key)
}

func (b *broken) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	if b.readAccess != nil {
		return b.readAccess(ctx, q)
	}
	return b.Store.ReadAccess(ctx, q)
}

// unconditional writes records over whatever version stands.
func unconditional(ctx context.Context, s storage.Store, c storage.Commit) storage.Commit {
	changes := append([]storage.Change{}, c.Changes...)
	for i, change := range changes {
		if put, ok := change.(storage.PutRecord); ok {
			row, _, err := s.GetRecord(ctx, put.Record.Collection, put.Record.ID)
			if err == nil {
				put.Expect = row.Version
				changes[i] = put
			}
		}
	}
	c.Changes = changes
	return c
}

// alone is a section that excludes within one store only.
type alone struct {
	key  string
	turn chan struct{}
}

func (a alone) Fence() storage.Fence        { return storage.Fence{Key: a.key, Fence: 1} }
func (a alone) Lease() time.Duration        { return time.Minute }
func (a alone) Renew(context.Context) error { return nil }
func (a alone) Release(context.Context) error {
	select {
	case <-a.turn:
	default:
	}
	return nil
}
