package importer_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/conformance/internal/processes"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// people is how many the directory has: more than are ever on their way.
const people = 9_000

// line is what stands between an importer and its directory. It can also be cut.
type line struct {
	processes.Line

	mu    sync.Mutex
	cut   bool
	asked int
	left  int // questions until the line breaks; 0 is none
}

// Ask waits for the directory's answer.
func (l *line) Ask(ctx context.Context) error {
	l.mu.Lock()
	if l.asked++; l.left > 0 {
		l.left--
		l.cut = l.left == 0
	}
	cut := l.cut
	l.mu.Unlock()
	if cut {
		return fmt.Errorf("the line is cut")
	}
	return l.Line.Ask(ctx)
}

func (l *line) Cut() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	return nil
}

func (l *line) CutMidway(readings int) (func() bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = l.asked / readings / 2
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.cut
	}, nil
}

func (l *line) Resume() error {
	l.mu.Lock()
	l.cut, l.left = false, 0
	l.mu.Unlock()
	return l.Line.Resume()
}

// memoryImporter tells a directory of people who are added one by one: a cursor is
// their number.
type memoryImporter struct {
	*processes.Process
	b      *surroundings
	token  string
	closed chan struct{}
	once   sync.Once
	handed atomic.Int64
}

var (
	datasets     = []directory.ImporterCapability{directory.CapUsers, directory.CapGroups, directory.CapMemberships}
	capabilities = append(slices.Clone(datasets), directory.CapReporting, directory.CapIncremental)
)

func (*memoryImporter) Info() directory.ImporterInfo {
	return directory.ImporterInfo{Name: "memory", Capabilities: slices.Clone(capabilities)}
}

// entries are what a reading from a person on tells.
func (i *memoryImporter) entries(from int) iter.Seq[directory.Entry] {
	return func(yield func(directory.Entry) bool) {
		to := int(i.b.people.Load())
		if !yield(directory.Begin{Datasets: slices.Clone(datasets), Incremental: from > 0, Expected: 2*(to-from) + 4}) {
			return
		}
		if from == 0 && (!yield(directory.Group{ID: "g1", Name: "Group", Parents: []string{"g0"}}) || !yield(directory.Group{ID: "g0", Name: "All"}) ||
			!yield(directory.Warning{Message: "a member of g1 does not exist"})) {
			return
		}
		for n := from; n < to; n++ {
			id, active := fmt.Sprintf("u%d", n), n%7 > 0
			if !yield(directory.User{UserID: id, Active: &active}) || !yield(directory.Membership{UserID: id, Groups: []string{"g1"}}) {
				return
			}
		}
		yield(directory.End{Cursor: fmt.Sprintf("p%d", to)})
	}
}

// from is the person that a cursor names.
func from(cursor string) (int, error) {
	n := 0
	if cursor == "" {
		return 0, nil
	}
	if _, err := fmt.Sscanf(cursor, "p%d", &n); err != nil || fmt.Sprintf("p%d", n) != cursor {
		return 0, authz.Validation("the cursor is none of this importer's")
	}
	return n, nil
}

func unavailable(cause error, why string) error {
	return &authz.UnavailableError{Message: why, Cause: cause}
}

// obstacle is why the importer cannot tell the next entry.
func (i *memoryImporter) obstacle(ctx context.Context) error {
	select {
	case <-i.closed:
		return unavailable(nil, "the importer is closed")
	default:
	}
	if ctx.Err() != nil {
		return unavailable(ctx.Err(), "the caller stopped waiting")
	}
	if err := i.Pass(ctx); err != nil {
		return unavailable(err, "the process does not answer")
	}
	if i.token != processes.RightToken {
		return unavailable(nil, "the directory refuses the token")
	}
	if err := i.b.Ask(ctx); err != nil {
		return unavailable(err, "the directory cannot be reached")
	}
	return nil
}

func (i *memoryImporter) Import(ctx context.Context, r directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		first, err := from(r.Cursor)
		if err != nil {
			yield(nil, err)
			return
		}
		for entry := range i.entries(first) {
			if err := i.obstacle(ctx); err != nil {
				yield(nil, err)
				return
			}
			i.handed.Add(1)
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func (i *memoryImporter) Close() error {
	i.once.Do(func() { close(i.closed) })
	return nil
}

// surroundings is the backend of a case.
type surroundings struct {
	processes.Configuration
	processes.Said
	processes.Started[directory.Importer, *memoryImporter]
	line
	people atomic.Int64
	broken func(*memoryImporter) directory.Importer // nil is sound
}

func (b *surroundings) Configure(_ context.Context, config map[string]any) (directory.Importer, error) {
	token, err := b.Token(config)
	if err != nil {
		return nil, err
	}
	i := &memoryImporter{Process: processes.New(), b: b, token: token, closed: make(chan struct{})}
	var made directory.Importer = i
	if b.broken != nil {
		made = b.broken(i)
	}
	b.Add(made, i)
	return made, nil
}

func (b *surroundings) Connect(ctx context.Context) (directory.Importer, error) {
	return b.Configure(ctx, b.Config())
}

func (*surroundings) Close() error { return nil }

func (b *surroundings) Handed(i directory.Importer) (int64, error) { return b.Of(i).handed.Load(), nil }

func (b *surroundings) Change(context.Context) error { b.people.Add(3); return nil }

// over is a target of the memory importer with its defects.
func over(broken func(*memoryImporter) directory.Importer, judge func(map[string]any) error) importer.Target {
	return importer.Target{Name: "memory", Timeout: time.Minute,
		New: func(context.Context) (importer.Backend, error) {
			b := &surroundings{Configuration: processes.Configuration{Judge: judge}, broken: broken}
			b.people.Store(people)
			return b, nil
		}}
}
