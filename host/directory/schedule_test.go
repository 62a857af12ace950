package directory_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	sdk "github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

// every is due at every multiple of a duration, the same for all hosts.
type every time.Duration

func (e every) Next(t time.Time) time.Time {
	return t.Truncate(time.Duration(e)).Add(time.Duration(e))
}

// once is due at one instant, which may have passed when it is asked first.
type once struct {
	at    time.Time
	asked atomic.Bool
}

func (o *once) Next(time.Time) time.Time {
	if o.asked.Swap(true) {
		return time.Time{}
	}
	return o.at
}

func TestWhatIsDueRuns(t *testing.T) {
	w := newWorld(t)
	w.importer.says("ann")
	d := w.open(func(o *directory.Options) { o.Schedule, o.Jitter = every(30*time.Millisecond), 5*time.Millisecond })
	if d.Known().Next == 0 {
		eventually(t, "the next run is told", func() bool { return d.Known().Next != 0 })
	}
	eventually(t, "three runs", func() bool { return d.Known().Runs[directory.Succeeded] >= 3 })
	if last := d.Known().Last; !last.Scheduled {
		t.Errorf("%+v", last)
	}
}

func TestOneHostOfManyRunsWhatIsDue(t *testing.T) {
	w := newWorld(t)
	w.importer.says("ann")
	when := time.Now().Add(50 * time.Millisecond)
	at := func(o *directory.Options) { o.Schedule = &once{at: when} }
	hosts := []*directory.Directory{w.open(at), w.open(at), w.open(at)}
	eventually(t, "every host is done", func() bool {
		done := uint64(0)
		for _, h := range hosts {
			done += h.Known().Runs[directory.Succeeded] + h.Known().Runs[directory.Skipped]
		}
		return done == 3
	})
	if n := w.importer.readings.Load(); n != 1 {
		t.Errorf("the directory was read %d times", n)
	}
}

func TestNothingRunsBeforeItIsDueWhenTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.importer.says("ann")
		var behind atomic.Int64
		d := w.open(func(o *directory.Options) {
			o.Schedule = &once{at: time.Now().Add(400 * time.Millisecond)}
			o.Clock = func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }
		})
		eventually(t, "the next run is told", func() bool { return d.Known().Next != 0 })
		behind.Store(int64(time.Hour))
		time.Sleep(600 * time.Millisecond) // as the clock was, it would be due
		if last := d.Known().Last; last != nil && last.StartedAt < d.Known().Next {
			t.Error("it ran an hour early")
		}
	})
}

func TestARunWaitsForNoOtherHostsForLong(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	w.importer.does(func(ctx context.Context, _ sdk.Request, yield func(sdk.Entry, error) bool) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		yield(nil, &authz.UnavailableError{Message: "down"})
	})
	one, other := w.open(), w.open(func(o *directory.Options) { o.Patience = 100 * time.Millisecond })
	var running sync.WaitGroup
	running.Go(func() { _, _ = one.Run(context.Background(), directory.Request{}) })
	eventually(t, "it reads", func() bool { return w.importer.readings.Load() == 1 })
	_, err := other.Run(t.Context(), directory.Request{})
	if code(err) != authz.CodeConflict || !strings.Contains(err.Error(), "on another host") {
		t.Errorf("%v", err)
	}
	if n := w.importer.readings.Load(); n != 1 {
		t.Errorf("%d readings", n)
	}
	close(release)
	running.Wait()
}

// TestAnApplyingRunOutlivesTheHostsStop: what was begun to be written is finished, alone.
func TestAnApplyingRunOutlivesTheHostsStop(t *testing.T) {
	w := newWorld(t)
	w.importer.says(numbered(50)...)
	beats := &renewed{Store: w.store}
	var d *directory.Directory
	stopped := make(chan error, 1)
	d = w.open(func(o *directory.Options) {
		app := o.Application()
		o.Store = beats
		o.Application = func() directory.Target {
			return leaving{app, func() {
				go func() { stopped <- d.Close(context.Background()) }()
				eventually(t, "the host stops", func() bool {
					_, err := d.Run(t.Context(), directory.Request{})
					return err != nil && strings.Contains(err.Error(), "stopping")
				})
				before := beats.n.Load()
				eventually(t, "the section is kept all the same", func() bool { return beats.n.Load() > before+2 })
			}}
		}
	})
	report, err := d.Run(t.Context(), directory.Request{})
	must(t, err)
	must(t, <-stopped)
	if len(w.users()) != 50 || report.Plan.CreatedPeople.Count != 50 || d.Known().Last.Result != directory.Succeeded {
		t.Errorf("%d users, %+v", len(w.users()), report.Plan.CreatedPeople)
	}
}

// leaving does something as soon as it applies.
type leaving struct {
	directory.Target
	leave func()
}

func (l leaving) RunImport(ctx context.Context, s sdk.Snapshot, source string, o sdk.Options, watch func(sdk.Progress)) (sdk.Report, error) {
	l.leave()
	if err := ctx.Err(); err != nil {
		return sdk.Report{}, err
	}
	return l.Target.RunImport(ctx, s, source, o, watch)
}

// renewed counts the renewals of its sections, whose beats are fast.
type renewed struct {
	storage.Store
	n atomic.Int64
}

func (s *renewed) Acquire(ctx context.Context, key string) (storage.Section, error) {
	section, err := s.Store.Acquire(ctx, key)
	return beating{section, &s.n}, err
}

type beating struct {
	storage.Section
	n *atomic.Int64
}

func (beating) Lease() time.Duration { return 15 * time.Millisecond }

func (b beating) Renew(ctx context.Context) error {
	b.n.Add(1)
	return b.Section.Renew(ctx)
}

// notRoot replaces the application of a world by one that is not the org root, and
// answers its store.
func notRoot(t *testing.T, w *world) storage.Store {
	t.Helper()
	driver := memory.New(memory.Options{})
	t.Cleanup(func() { _ = driver.Close() })
	store, err := driver.Open(t.Context(), "test")
	must(t, err)
	vocabulary, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}})
	must(t, err)
	no := false
	w.app, err = application.New(t.Context(), application.Options{Catalog: vocabulary, Store: store, OrgRoot: &no})
	must(t, err)
	t.Cleanup(func() { must(t, w.app.Close()) })
	return store
}
