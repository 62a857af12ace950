package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *faultyStore) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	if err := s.before(ctx); err != nil {
		return authz.Grant{}, false, err
	}
	return s.Store.GetGrant(ctx, id)
}

func (s *faultyStore) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if err := s.before(ctx); err != nil {
		return storage.CommitResult{}, err
	}
	return s.Store.Commit(ctx, c)
}

// ListRoles yields two rows before the fault.
func (s *faultyStore) ListRoles(ctx context.Context, _ storage.Page) iter.Seq2[authz.Role, error] {
	return func(yield func(authz.Role, error) bool) {
		for _, id := range []string{"a", "b"} {
			if !yield(authz.Role{ID: id, Name: strings.Repeat("x", 700<<10)}, nil) {
				return
			}
		}
		if err := s.before(ctx); err != nil {
			yield(authz.Role{}, err)
		}
	}
}

func (s *faultyStore) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if err := s.before(ctx); err != nil {
		return nil, err
	}
	return s.Store.Acquire(ctx, key)
}

func roleCommit(id string) storage.Commit {
	return storage.Commit{ID: "commit-" + id, At: 1, Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: id, Name: id}}}}
}

func asStorage(t *testing.T, err error) *storage.Error {
	t.Helper()
	var e *storage.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *storage.Error", err)
	}
	return e
}

func TestEveryErrorKeepsItsIdentity(t *testing.T) {
	cases := []*storage.Error{
		{Code: storage.CodeValidation, Message: "a bad value"},
		{Code: storage.CodeConflict, Message: "named", Grants: 3},
		{Code: storage.CodeConflict, Message: "moved", Version: authz.MaxInstant},
		{Code: storage.CodeNotFound, Message: ""},
		{Code: storage.CodeStaleFence, Message: "gone Ä"},
		storage.Unsupported(storage.CapHistory),
		{Code: storage.CodeTooLarge, Message: "big"},
		{Code: storage.CodeUnavailable, Message: "no database", Outcome: authz.OutcomeNotApplied},
		{Code: storage.CodeUnavailable, Message: "lost", Outcome: authz.OutcomeUnknown},
		{Code: storage.CodeUnavailable, Message: "read"},
	}
	for _, want := range cases {
		t.Run(string(want.Code)+" "+want.Message, func(t *testing.T) {
			sent := *want
			sent.Cause = errors.New("database text")
			s := faulty(t, func(context.Context) error { return fmt.Errorf("while reading: %w", &sent) })
			_, _, read := s.GetGrant(t.Context(), "g")
			_, wrote := s.Commit(t.Context(), roleCommit("r"))
			_, waited := s.Acquire(t.Context(), "groups")
			var listed error
			rows := 0
			for _, err := range s.ListRoles(t.Context(), storage.Page{}) {
				if listed = err; err == nil {
					rows++
				}
			}
			for operation, err := range map[string]error{"get": read, "commit": wrote, "acquire": waited, "list": listed} {
				if diff := cmp.Diff(want, asStorage(t, err)); diff != "" {
					t.Errorf("%s (-driver +host): %s", operation, diff)
				}
			}
			if rows == 0 {
				t.Error("the list lost the rows before its error")
			}
		})
	}
}

func TestAnErrorThatIsNotTheSeamsOwnIsAnOutageAndStaysAtHome(t *testing.T) {
	var log bytes.Buffer
	d := &faultyDriver{Driver: memory.New(memory.Options{}), decorate: func(s storage.Store) storage.Store {
		return &faultyStore{Store: s, before: func(context.Context) error { return errors.New("password=hunter2") }}
	}}
	client, _ := serve(t, serving(d), hclog.New(&hclog.LoggerOptions{Output: &log})).dial(t)
	s := openStore(t, configured(t, client), "docs")
	_, _, read := s.GetGrant(t.Context(), "g")
	_, wrote := s.Commit(t.Context(), roleCommit("r"))
	for err, want := range map[error]authz.Outcome{read: "", wrote: authz.OutcomeUnknown} {
		e := asStorage(t, err)
		if e.Code != storage.CodeUnavailable || e.Outcome != want || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v with outcome %q, want %q", err, e.Outcome, want)
		}
	}
	if !strings.Contains(log.String(), "hunter2") {
		t.Error("the plugin's log does not have it")
	}
}

func TestAMessageOfAnyLengthCrosses(t *testing.T) {
	s := faulty(t, func(context.Context) error {
		return storage.Errorf(storage.CodeValidation, "%s\xff", strings.Repeat("long ", 1<<20))
	})
	_, _, err := s.GetGrant(t.Context(), "g")
	if e := asStorage(t, err); e.Code != storage.CodeValidation || len(e.Message) > 5000 {
		t.Errorf("got %s with %d bytes", e.Code, len(e.Message))
	}
}

func TestDeadlinesAndCancellationReachTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reached := make(chan context.Context, 1)
		s := storeInBubble(t, failing(func(ctx context.Context) error {
			reached <- ctx
			<-ctx.Done()
			return ctx.Err()
		}))
		within, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _, err := s.GetGrant(within, "g")
		if e := asStorage(t, err); e.Code != storage.CodeUnavailable || e.Outcome != "" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read past its deadline gave %v, outcome %q", err, e.Outcome)
		}
		if left, ok := (<-reached).Deadline(); !ok || time.Until(left) > 300*time.Millisecond {
			t.Error("the driver saw no deadline")
		}
		for operation, call := range map[string]func(context.Context) error{
			"get":     func(ctx context.Context) error { _, _, err := s.GetGrant(ctx, "g"); return err },
			"acquire": func(ctx context.Context) error { _, err := s.Acquire(ctx, "groups"); return err },
			"commit":  func(ctx context.Context) error { _, err := s.Commit(ctx, roleCommit("r")); return err },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- call(ctx) }()
			inDriver := <-reached
			cancel()
			err := <-ended
			e := asStorage(t, err)
			want := map[string]authz.Outcome{"get": "", "acquire": authz.OutcomeNotApplied, "commit": authz.OutcomeUnknown}[operation]
			if e.Code != storage.CodeUnavailable || e.Outcome != want || !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled %s gave %v, outcome %q, want %q", operation, err, e.Outcome, want)
			}
			<-inDriver.Done()
		}
	})
}

func TestADeadlineThatThePluginSawFirstIsTheCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ended := range []error{
			context.DeadlineExceeded,
			storage.Unavailable("", context.DeadlineExceeded, "the database gave no answer in time"),
		} {
			s := storeInBubble(t, failing(func(context.Context) error { return ended }))
			ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
			defer cancel()
			_, _, err := s.GetGrant(ctx, "g")
			if e := asStorage(t, err); e.Code != storage.CodeUnavailable || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a deadline: %v", err)
			}
			later, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			for name, ctx := range map[string]context.Context{"with a later one": later, "without one": context.Background()} {
				_, _, err = s.GetGrant(ctx, "g")
				if e := asStorage(t, err); e.Code != storage.CodeUnavailable || e.Cause != nil {
					t.Errorf("%s: %v, cause %v", name, err, e.Cause)
				}
			}
		}
	})
}

func TestACallWhoseContextHasEndedSendsNothing(t *testing.T) {
	s := faulty(t, func(context.Context) error { return errors.New("reached") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Commit(ctx, roleCommit("r"))
	if e := asStorage(t, err); e.Outcome != authz.OutcomeNotApplied || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, outcome %q", err, e.Outcome)
	}
}

// A write whose connection ends on the way may have been applied; one that found no
// connection was not.
func TestTheFateOfAWriteIsUnknownOnceItIsSent(t *testing.T) {
	reached := make(chan struct{}, 8)
	d := &faultyDriver{Driver: memory.New(memory.Options{}), decorate: func(s storage.Store) storage.Store {
		return &faultyStore{Store: s, before: func(ctx context.Context) error {
			reached <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}}
	}}
	large := storage.Commit{ID: "large", Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: "r", Name: strings.Repeat("x", 5<<20)}}}}
	for name, c := range map[string]storage.Commit{"in one message": roleCommit("r"), "in pieces": large} {
		client, conn := serve(t, serving(d), nil).dial(t)
		s := openStore(t, configured(t, client), "docs")
		go func() {
			<-reached
			conn.Close()
		}()
		_, err := s.Commit(t.Context(), c)
		if e := asStorage(t, err); e.Code != storage.CodeUnavailable || e.Outcome != authz.OutcomeUnknown {
			t.Errorf("%s, the connection ended: %v, outcome %q", name, err, e.Outcome)
		}
		_, err = s.Commit(t.Context(), c)
		_, pruned := s.PruneMetrics(t.Context(), 1)
		for _, err := range []error{err, pruned, s.RecordMetrics(t.Context(), nil)} {
			if e := asStorage(t, err); e.Code != storage.CodeUnavailable || e.Outcome != authz.OutcomeNotApplied {
				t.Errorf("%s, no connection: %v, outcome %q", name, err, e.Outcome)
			}
		}
	}
}

func TestABrokenCommitStreamAppliesNothing(t *testing.T) {
	b := serve(t, serving(memory.New(memory.Options{})), nil)
	client, conn := b.dial(t)
	d := configured(t, client)
	s := openStore(t, d, "docs")
	raw := pluginv1.NewStorageClient(conn)
	opened, err := raw.Open(t.Context(), &pluginv1.OpenRequest{Partition: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(store uint64) []byte {
		message, err := proto.Marshal(&pluginv1.Commit{Store: store, Id: "commit-r", Changes: []*pluginv1.Change{
			{Of: &pluginv1.Change_UpsertRole{UpsertRole: &pluginv1.Role{Id: "r"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return message
	}
	message, strayed := commit(opened.GetStore()), commit(99)
	frame := func(data []byte, end bool) *pluginv1.Frame {
		return &pluginv1.Frame{Operation: "Commit", Data: data, End: end}
	}
	type stream = pluginv1.Storage_InPiecesClient
	ends := map[string]func(stream, context.CancelFunc) error{
		"the sender stops half-way": func(st stream, _ context.CancelFunc) error {
			return errors.Join(st.Send(frame(message[:5], false)), st.CloseSend())
		},
		"the last frame never comes": func(st stream, cancel context.CancelFunc) error {
			err := st.Send(frame(message, false))
			time.Sleep(50 * time.Millisecond)
			cancel()
			return err
		},
		"nothing is sent at all": func(st stream, _ context.CancelFunc) error { return st.CloseSend() },
		"a handle that was never opened": func(st stream, _ context.CancelFunc) error {
			return errors.Join(st.Send(frame(strayed, true)), st.CloseSend())
		},
		"what is no commit": func(st stream, _ context.CancelFunc) error {
			return errors.Join(st.Send(frame([]byte("\xff\xff"), true)), st.CloseSend())
		},
		"an operation that there is not": func(st stream, _ context.CancelFunc) error {
			return errors.Join(st.Send(&pluginv1.Frame{Operation: "Commits", Data: message, End: true}), st.CloseSend())
		},
		"an operation that is no question": func(st stream, _ context.CancelFunc) error {
			return errors.Join(st.Send(&pluginv1.Frame{Operation: "InPieces", Data: message, End: true}), st.CloseSend())
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			st, err := raw.InPieces(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(st, cancel); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Recv(); err == nil {
				t.Error("it was answered")
			}
			if _, found, err := s.GetCommit(t.Context(), "commit-r"); found || err != nil {
				t.Errorf("found %v, %v", found, err)
			}
		})
	}
	if _, found, err := s.GetRole(t.Context(), "r"); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestSizesAreBoundedAndNothingIsWritten(t *testing.T) {
	s := memoryStore(t)
	many := storage.Commit{ID: "many", Changes: make([]storage.Change, storage.MaxCommitChanges+1)}
	for i := range many.Changes {
		many.Changes[i] = storage.DeleteGroup{ID: "g"}
	}
	big := storage.Commit{ID: "big"}
	for i := range 80 {
		big.Changes = append(big.Changes, storage.UpsertRole{Role: authz.Role{ID: fmt.Sprint(i), Name: strings.Repeat("x", 1<<20)}})
	}
	for _, c := range []storage.Commit{many, big} {
		if _, err := s.Commit(t.Context(), c); storage.CodeOf(err) != storage.CodeTooLarge {
			t.Errorf("%s gave %v", c.ID, err)
		}
	}
	for role, err := range s.ListRoles(t.Context(), storage.Page{}) {
		t.Fatalf("role %q, %v", role.ID, err)
	}
	huge := strings.Repeat("x", 5<<20)
	if _, err := s.Acquire(t.Context(), huge); storage.CodeOf(err) != storage.CodeTooLarge {
		t.Errorf("a section key of 5 MiB gave %v", err)
	}
	if _, _, err := s.GetGrant(t.Context(), huge); err != nil {
		t.Errorf("a grant id of 5 MiB gave %v", err)
	}
}

func TestPartitionsThatCannotBeNamed(t *testing.T) {
	d := bridged(t, memory.New(memory.Options{}))
	for _, name := range []string{"a b", "\xff", strings.Repeat("x", 64)} {
		if _, err := d.Open(t.Context(), name); storage.CodeOf(err) != storage.CodeValidation {
			t.Errorf("%q gave %v", name, err)
		}
	}
}

func TestClosedHandlesAnswerUnavailable(t *testing.T) {
	client, conn := serve(t, serving(memory.New(memory.Options{})), nil).dial(t)
	d := configured(t, client)
	one, two, three := openStore(t, d, "docs"), openStore(t, d, "docs"), openStore(t, d, "docs")
	check := func(s storage.Store, what string) {
		t.Helper()
		_, _, read := s.GetGrant(t.Context(), "g")
		_, wrote := s.Commit(t.Context(), roleCommit("r"))
		_, waited := s.Acquire(t.Context(), "groups")
		var watched, listed error
		for _, watched = range s.Watch(t.Context()) {
		}
		for _, listed = range s.ListGrants(t.Context(), storage.GrantFilter{}, storage.Page{}) {
		}
		for _, err := range []error{read, wrote, waited, watched, listed} {
			if storage.CodeOf(err) != storage.CodeUnavailable {
				t.Errorf("%s: %v", what, err)
			}
		}
		if e := asStorage(t, wrote); e.Outcome != authz.OutcomeNotApplied {
			t.Errorf("%s: a commit's outcome is %q", what, e.Outcome)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close: %v", what, err)
		}
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	check(one, "a closed store")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	check(two, "a store of a closed driver")
	if _, err := d.Open(t.Context(), "docs"); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("a closed driver opened: %v", err)
	}
	conn.Close()
	check(three, "a store of a plugin that is gone")
}
