package plugin_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

func acquire(t *testing.T, s storage.Store) storage.Section {
	t.Helper()
	section, err := s.Acquire(t.Context(), "groups")
	if err != nil {
		t.Fatal(err)
	}
	return section
}

// busy reports that the section cannot be had at once.
func busy(t *testing.T, s storage.Store) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLease/4)
	defer cancel()
	section, err := s.Acquire(ctx, "groups")
	if err == nil {
		section.Release(t.Context())
		return false
	}
	if e := asStorage(t, err); e.Code != storage.CodeUnavailable || e.Outcome != authz.OutcomeNotApplied || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a waiter that gave up got %v, outcome %q", err, e.Outcome)
	}
	return true
}

func TestASectionIsHeldUntilReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storeInBubble(t, memory.New(memory.Options{Lease: testLease}))
		first := acquire(t, s)
		if first.Fence().Key != "groups" || first.Fence().Fence <= 0 || first.Lease() != testLease {
			t.Errorf("fence %+v, lease %s", first.Fence(), first.Lease())
		}
		if !busy(t, s) {
			t.Fatal("two hold it")
		}
		other, err := s.Acquire(t.Context(), "roles")
		if err != nil {
			t.Fatalf("another key waited: %v", err)
		}
		for range 2 {
			if err := first.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		second := acquire(t, s)
		if second.Fence().Fence <= first.Fence().Fence {
			t.Error("the fence did not grow")
		}
		if err := first.Renew(t.Context()); storage.CodeOf(err) != storage.CodeUnavailable {
			t.Errorf("a released section renewed: %v", err)
		}
		for _, section := range []storage.Section{second, other} {
			if err := section.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestBeatsKeepASectionAndSilenceLosesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storeInBubble(t, memory.New(memory.Options{Lease: testLease}))
		held := acquire(t, s)
		for range 6 {
			time.Sleep(testLease / 3)
			if err := held.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if !busy(t, s) {
			t.Fatal("it was stolen although its holder beats")
		}
		// From here the stream lives and no beat is sent: as with a stopped host,
		// the healthy plugin must not renew by itself.
		thief := acquire(t, s)
		if err := held.Renew(t.Context()); storage.CodeOf(err) != storage.CodeStaleFence {
			t.Errorf("a robbed holder's beat gave %v", err)
		}
		commit := roleCommit("r")
		commit.Fences = []storage.Fence{held.Fence()}
		if _, err := s.Commit(t.Context(), commit); storage.CodeOf(err) != storage.CodeStaleFence {
			t.Errorf("a robbed holder's commit gave %v", err)
		}
		commit.Fences = []storage.Fence{thief.Fence()}
		if _, err := s.Commit(t.Context(), commit); err != nil {
			t.Error(err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Errorf("releasing what is lost: %v", err)
		}
		if err := thief.Renew(t.Context()); err != nil {
			t.Errorf("the thief's beat after that: %v", err)
		}
	})
}

func TestASectionGoesWithItsHolder(t *testing.T) {
	ways := map[string]func(storage.Store, func()){
		"its host dies":         func(_ storage.Store, disconnect func()) { disconnect() },
		"its handle is closed":  func(s storage.Store, _ func()) { s.Close() },
		"its wait is cancelled": nil,
	}
	for name, leave := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := serveInBubble(t, serving(memory.New(memory.Options{Lease: time.Minute})))
				client, _ := b.dial(t)
				d := configured(t, client)
				staying := openStore(t, d, "docs")

				// The dying host has a connection of its own.
				dying, conn := b.dial(t)
				leaving := openStore(t, plugin.SecondDriver(dying), "docs")
				if leave != nil {
					acquire(t, leaving)
					leave(leaving, func() { conn.Close() })
				} else {
					held := acquire(t, staying)
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					go func() {
						_, err := leaving.Acquire(ctx, "groups")
						ended <- err
					}()
					synctest.Wait() // it waits
					cancel()
					if err := <-ended; !errors.Is(err, context.Canceled) {
						t.Errorf("the waiter got %v", err)
					}
					held.Release(t.Context())
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := staying.Acquire(ctx, "groups"); err != nil {
					t.Errorf("not free within a second: %v", err)
				}
			})
		})
	}
}

func TestRunExclusiveAcrossTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storeInBubble(t, memory.New(memory.Options{Lease: testLease}))
		inside, most := 0, 0
		done := make(chan error, 8)
		for range 8 {
			go func() {
				done <- storage.RunExclusive(context.Background(), s, "groups", func(context.Context) error {
					inside++ // the section is the only thing that orders these
					most = max(most, inside)
					time.Sleep(testLease / 20)
					inside--
					return nil
				})
			}()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if most != 1 {
			t.Errorf("%d bodies ran at once", most)
		}
		// A body that outlives many leases keeps its section by its beats.
		if err := storage.RunExclusive(t.Context(), s, "groups", func(ctx context.Context) error {
			time.Sleep(3 * testLease)
			commit := roleCommit("slow")
			commit.Fences = storage.Held(ctx, s)
			_, err := s.Commit(ctx, commit)
			return err
		}); err != nil {
			t.Error(err)
		}
	})
}

func TestALeaseThatNobodyCanRenewIsRefusedAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lease := range []time.Duration{-time.Second, 1, time.Millisecond - 1} {
			backend := memory.New(memory.Options{Lease: time.Minute})
			d := &faultyDriver{Driver: backend, decorate: func(s storage.Store) storage.Store { return &shortLeases{s, lease} }}
			s := storeInBubble(t, d)
			err := storage.RunExclusive(t.Context(), s, "groups", func(context.Context) error {
				t.Errorf("%v: the body ran", lease)
				return nil
			})
			if e := asStorage(t, err); e.Code != storage.CodeUnavailable || e.Outcome != authz.OutcomeNotApplied {
				t.Errorf("%v: %v, outcome %q", lease, err, e.Outcome)
			}
			direct := openStore(t, backend, "docs")
			eventually(t, "the section is given back", func() bool { return !busy(t, direct) })
		}
	})
}

// shortLeases says that its sections end sooner than they do.
type shortLeases struct {
	storage.Store
	lease time.Duration
}

func (s *shortLeases) Acquire(ctx context.Context, key string) (storage.Section, error) {
	section, err := s.Store.Acquire(ctx, key)
	return &shortSection{section, s.lease}, err
}

type shortSection struct {
	storage.Section
	lease time.Duration
}

func (s *shortSection) Lease() time.Duration { return s.lease }

func TestABeatThatNobodyAnswersEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renew := make(chan struct{})
		d := &faultyDriver{Driver: memory.New(memory.Options{}), decorate: func(s storage.Store) storage.Store { return &stuckRenewals{s, renew} }}
		s := storeInBubble(t, d)
		section := acquire(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := section.Renew(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(renew)
		// The late answer is not taken for the next beat's.
		for range 3 {
			if err := section.Renew(t.Context()); err != nil {
				t.Errorf("a later beat: %v", err)
			}
		}
		if err := section.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

type stuckRenewals struct {
	storage.Store
	until chan struct{}
}

func (s *stuckRenewals) Acquire(ctx context.Context, key string) (storage.Section, error) {
	section, err := s.Store.Acquire(ctx, key)
	return &stuckSection{section, s.until}, err
}

type stuckSection struct {
	storage.Section
	until chan struct{}
}

func (s *stuckSection) Renew(ctx context.Context) error {
	<-s.until
	return s.Section.Renew(ctx)
}

func TestWatchShowsTheHeadAtOnceAndItsMovements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storeInBubble(t, memory.New(memory.Options{Lease: testLease}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		heads := make(chan int64)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for head, err := range s.Watch(ctx) {
				if err != nil {
					t.Errorf("watch: %v", err)
					return
				}
				heads <- head
			}
		}()
		if head := <-heads; head != 0 {
			t.Errorf("the first head is %d", head)
		}
		move := func(id string) int64 {
			commit := roleCommit(id)
			commit.Events = []authz.Event{authz.RoleEvent(id)}
			r, err := s.Commit(t.Context(), commit)
			if err != nil {
				t.Fatal(err)
			}
			return r.UpTo.Seq
		}
		if want := move("a"); <-heads != want {
			t.Errorf("the head did not follow to %d", want)
		}
		// Nobody reads while many commits pass; then few heads tell it all.
		var last int64
		for i := range 200 {
			last = move("r" + string(rune('A'+i%26)) + time.Duration(i).String())
		}
		synctest.Wait()
		for seen := 0; ; seen++ {
			head := <-heads
			if head == last {
				break
			}
			if seen > 5 {
				t.Fatal("a slow reader is shown every old head")
			}
		}
		cancel()
		select {
		case <-ended:
		case head := <-heads:
			t.Errorf("head %d after the end", head)
		case <-time.After(30 * time.Second):
			t.Error("the sequence did not end with its context")
		}
	})
}

func TestNothingOfTheBridgeOutlivesItsUse(t *testing.T) {
	s := memoryStore(t)
	for i := range 1500 {
		if _, err := s.Commit(t.Context(), roleCommit(time.Duration(i).String())); err != nil {
			t.Fatal(err)
		}
	}
	before := runtime.NumGoroutine()
	for range 20 {
		acquire(t, s).Release(t.Context())
		for range s.ListRoles(t.Context(), storage.Page{}) {
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range s.Watch(ctx) {
			break
		}
		cancel()
		busyCtx, done := context.WithTimeout(t.Context(), time.Nanosecond)
		s.Acquire(busyCtx, "roles")
		done()
	}
	eventually(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// waits asks for a section as a host does that beats every 20 ms. One of both is closed
// when it is answered. A stopped host asks so and then sends nothing.
func waits(t *testing.T, conn *grpc.ClientConn, beats bool) (granted, refused chan struct{}) {
	t.Helper()
	rpc := pluginv1.NewStorageClient(conn)
	opened, err := rpc.Open(t.Context(), &pluginv1.OpenRequest{Partition: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	st, err := rpc.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const every = 20 * time.Millisecond
	ask := &pluginv1.SectionAcquire{Store: opened.GetStore(), Key: "groups", WaitingBeatMs: every.Milliseconds()}
	if err := st.Send(&pluginv1.SectionRequest{Of: &pluginv1.SectionRequest_Acquire{Acquire: ask}}); err != nil {
		t.Fatal(err)
	}
	granted, refused = make(chan struct{}), make(chan struct{})
	go func() {
		for beats {
			select {
			case <-granted:
				return
			case <-refused:
				return
			case <-t.Context().Done():
				return
			case <-time.After(every / 2):
				_ = st.Send(&pluginv1.SectionRequest{Of: &pluginv1.SectionRequest_Beat{}})
			}
		}
	}()
	go func() {
		if r, err := st.Recv(); err == nil && r.GetGranted() != nil {
			close(granted)
		} else {
			close(refused)
		}
	}()
	return granted, refused
}

// A plugin goes on while its host is stopped. What it acquired for waiters that nobody
// beats would keep others out for a lease each.
func TestAHostThatFellSilentGetsNoSection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serveInBubble(t, serving(memory.New(memory.Options{Lease: time.Minute})))
		client, _ := b.dial(t)
		s := openStore(t, configured(t, client), "docs")
		held := acquire(t, s)
		_, conn := b.dial(t)
		var stopped []chan struct{}
		for range 3 {
			_, refused := waits(t, conn, false)
			stopped = append(stopped, refused)
		}
		time.Sleep(100 * time.Millisecond) // five beats
		for _, refused := range stopped {
			select {
			case <-refused:
			default:
				t.Error("a silent host still waits")
			}
		}
		late, tooLate := waits(t, conn, false)
		time.Sleep(50 * time.Millisecond) // silent, and not yet found to be
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tooLate:
		case <-late:
			t.Fatal("a silent host was granted the section")
		}
		next := acquire(t, s)
		granted, refused := waits(t, conn, true)
		time.Sleep(200 * time.Millisecond)
		if err := next.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-granted:
		case <-refused:
			t.Error("a host that beats while it waits does not get it")
		}
	})
}
