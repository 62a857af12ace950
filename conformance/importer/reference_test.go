package importer_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/conformance/internal/processes"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

// people is how many the directory has: more than are ever on their way.
const people = 9_000

// line is what stands between an importer and its directory.
type line struct {
	mu      sync.Mutex
	cut     bool
	asked   int
	left    int           // questions until the line breaks; 0 is none
	stalled chan struct{} // closed while the directory answers
}

// ask waits for the directory's answer.
func (l *line) ask(ctx context.Context) error {
	l.mu.Lock()
	if l.asked++; l.left > 0 {
		l.left--
		l.cut = l.left == 0
	}
	cut, stalled := l.cut, l.stalled
	l.mu.Unlock()
	if cut {
		return fmt.Errorf("the line is cut")
	}
	select {
	case <-stalled:
		return nil
	default:
	}
	select {
	case <-stalled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// memoryImporter tells a directory of people who are added one by one: a cursor is
// their number.
type memoryImporter struct {
	b       *surroundings
	process *processes.Process
	token   string
	closed  chan struct{}
	once    sync.Once
	handed  atomic.Int64
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
	if err := i.process.Pass(ctx); err != nil {
		return unavailable(err, "the process does not answer")
	}
	if i.token != rightToken {
		return unavailable(nil, "the directory refuses the token")
	}
	if err := i.b.line.ask(ctx); err != nil {
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
	people atomic.Int64
	line   line
	broken func(*memoryImporter) directory.Importer // nil is sound
	strict func(map[string]any) error               // nil is sound
	said   strings.Builder

	mu   sync.Mutex
	open map[directory.Importer]*memoryImporter
}

const rightToken = "s3cret-token"

var schema = []plugin.Setting{
	{Name: "address", Type: plugin.TypeString, Required: true},
	{Name: "token", Type: plugin.TypeString, Secret: true},
	{Name: "page", Type: plugin.TypeInteger},
	{Name: "attributes", Type: plugin.TypeStrings},
}

func (*surroundings) Settings() []plugin.Setting { return schema }

func (*surroundings) Config() map[string]any {
	return map[string]any{"address": "memory", "token": rightToken}
}

func (b *surroundings) Output() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said.String()
}

func (b *surroundings) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(&b.said, format+"\n", args...)
}

func (b *surroundings) Configure(_ context.Context, config map[string]any) (directory.Importer, error) {
	strict := b.strict
	if strict == nil {
		strict = func(config map[string]any) error { return processes.Check(schema, config) }
	}
	if err := strict(config); err != nil {
		return nil, err
	}
	token, _ := config["token"].(string)
	i := &memoryImporter{b: b, process: processes.New(), token: token, closed: make(chan struct{})}
	var made directory.Importer = i
	if b.broken != nil {
		made = b.broken(i)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[made] = i
	return made, nil
}

func (b *surroundings) Connect(ctx context.Context) (directory.Importer, error) {
	return b.Configure(ctx, b.Config())
}

func (*surroundings) Close() error { return nil }

func (b *surroundings) of(i directory.Importer) *memoryImporter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open[i]
}

func (b *surroundings) Kill(i directory.Importer) error     { b.of(i).process.Kill(); return nil }
func (b *surroundings) Stop(i directory.Importer) error     { b.of(i).process.Stop(); return nil }
func (b *surroundings) Continue(i directory.Importer) error { b.of(i).process.Continue(); return nil }

func (b *surroundings) Handed(i directory.Importer) (int64, error) {
	return b.of(i).handed.Load(), nil
}

func (b *surroundings) Change(context.Context) error { b.people.Add(3); return nil }

func (b *surroundings) Cut() error {
	b.line.mu.Lock()
	defer b.line.mu.Unlock()
	b.line.cut = true
	return nil
}

func (b *surroundings) CutMidway(readings int) (func() bool, error) {
	b.line.mu.Lock()
	defer b.line.mu.Unlock()
	b.line.left = b.line.asked / readings / 2
	return func() bool {
		b.line.mu.Lock()
		defer b.line.mu.Unlock()
		return b.line.cut
	}, nil
}

func (b *surroundings) Stall() error {
	b.line.mu.Lock()
	defer b.line.mu.Unlock()
	b.line.stalled = make(chan struct{})
	return nil
}

func (b *surroundings) Resume() error {
	b.line.mu.Lock()
	defer b.line.mu.Unlock()
	b.line.cut, b.line.left = false, 0
	select {
	case <-b.line.stalled:
	default:
		close(b.line.stalled)
	}
	return nil
}

// over is a target of the memory importer with its defects.
func over(broken func(*memoryImporter) directory.Importer, strict func(map[string]any) error) importer.Target {
	return importer.Target{Name: "memory", Timeout: time.Minute,
		New: func(context.Context) (importer.Backend, error) {
			b := &surroundings{broken: broken, strict: strict, open: map[directory.Importer]*memoryImporter{}}
			b.people.Store(people)
			b.line.stalled = make(chan struct{})
			close(b.line.stalled)
			return b, nil
		}}
}
