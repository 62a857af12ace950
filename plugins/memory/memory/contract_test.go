package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// A factory makes a fresh backend and returns how to connect to it: every
// connection is a driver of its own on the same rows. lease 0 is the default.
type factory func(t *testing.T, lease time.Duration) (connect func() storage.Driver)

func memoryFactory(_ *testing.T, lease time.Duration) func() storage.Driver {
	return memory.NewBackend(memory.Options{Lease: lease}).Driver
}

// contractCase is one sentence of the storage contract.
type contractCase struct {
	id, says string
	run      func(*world)
}

// world is the fresh backend of one case.
type world struct {
	*testing.T
	ctx     context.Context
	fresh   factory
	connect func() storage.Driver
	*named
}

// named is a store whose shorthand fails the case on any error.
type named struct {
	storage.Store
	w *world
}

func runCases(t *testing.T, f factory, cases []contractCase) {
	for _, c := range cases {
		t.Run(c.id+" "+c.says, func(t *testing.T) {
			t.Parallel()
			c.run(newWorld(t, f, 0))
		})
	}
}

func newWorld(t *testing.T, f factory, lease time.Duration) *world {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	w := &world{T: t, ctx: ctx, fresh: f, connect: f(t, lease)}
	w.named = w.open("")
	return w
}

// open opens a partition over a connection of its own.
func (w *world) open(partition string) *named {
	w.Helper()
	d := w.connect()
	s, err := d.Open(w.ctx, partition)
	if err != nil {
		w.Fatalf("open %q: %v", partition, err)
	}
	w.Cleanup(func() { _ = d.Close() })
	return &named{s, w}
}

func (s *named) reopen() *named {
	s.w.Helper()
	if err := s.Close(); err != nil {
		s.w.Fatal(err)
	}
	return s.w.open(s.Info().Partition)
}

var commitNumber atomic.Int64

func commitID() string { return fmt.Sprintf("commit-%d", commitNumber.Add(1)) }

func changes(changes ...storage.Change) storage.Commit {
	return storage.Commit{ID: commitID(), At: 1000, Changes: changes}
}

// do commits and fails the case when that is refused.
func (s *named) do(c storage.Commit) storage.CommitResult {
	s.w.Helper()
	result, err := s.Commit(s.w.ctx, c)
	if err != nil {
		s.w.Fatalf("commit: %v", err)
	}
	return result
}

func (s *named) write(c ...storage.Change) []storage.ChangeResult {
	s.w.Helper()
	return s.do(changes(c...)).Results
}

// refuse expects the code and returns the error.
func (s *named) refuse(code storage.Code, c storage.Commit) *storage.Error {
	s.w.Helper()
	result, err := s.Commit(s.w.ctx, c)
	if storage.CodeOf(err) != code {
		s.w.Fatalf("commit answered %+v, %v; want %s", result, err, code)
	}
	var refusal *storage.Error
	errors.As(err, &refusal)
	return refusal
}

func (w *world) code(want storage.Code, err error) {
	w.Helper()
	if storage.CodeOf(err) != want {
		w.Fatalf("got %v, want code %q", err, want)
	}
}

// rows collects a list.
func rows[T any](w *world, list iter.Seq2[T, error]) []T {
	w.Helper()
	var out []T
	for row, err := range list {
		if err != nil {
			w.Fatalf("list: %v", err)
		}
		out = append(out, row)
	}
	return out
}

// listError is the error that a list ends with.
func listError[T any](list iter.Seq2[T, error]) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// one returns a row that must be there.
func one[T any](w *world) func(T, bool, error) T {
	return func(row T, found bool, err error) T {
		w.Helper()
		if err != nil || !found {
			w.Fatalf("found %v, error %v; want the row", found, err)
		}
		return row
	}
}

// none expects the absence of a row.
func none[T any](w *world) func(T, bool, error) {
	return func(row T, found bool, err error) {
		w.Helper()
		var zero T
		if err != nil || found {
			w.Fatalf("found %v %+v, error %v; want none", found, row, err)
		}
		w.same(zero, row)
	}
}

var sameOptions = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.AllowUnexported(authz.Expiry{}),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return json.Valid(a) && json.Valid(b) },
		cmp.Comparer(func(a, b json.RawMessage) bool { return jsonEqual(a, b) })),
}

func jsonEqual(a, b json.RawMessage) bool {
	var values [2]any
	for i, raw := range []json.RawMessage{a, b} {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if dec.Decode(&values[i]) != nil {
			return false
		}
	}
	return cmp.Equal(values[0], values[1])
}

// same compares by value: JSON by what it says, lists nil or empty alike.
func (w *world) same(want, got any) {
	w.Helper()
	if diff := cmp.Diff(want, got, sameOptions); diff != "" {
		w.Fatalf("differs (-want +got):\n%s", diff)
	}
}

func ids[T any](list []T, id func(T) string) []string {
	out := make([]string, len(list))
	for i, row := range list {
		out[i] = id(row)
	}
	return out
}

func grantID(g authz.Grant) string { return g.ID }

func (s *named) grantIDs(f storage.GrantFilter) []string {
	s.w.Helper()
	return ids(rows(s.w, s.ListGrants(s.w.ctx, f, storage.Page{})), grantID)
}

func ptr[T any](v T) *T { return &v }

// grant is a plausible row; set changes what a case is about.
func grant(id, subject string, set ...func(*authz.Grant)) authz.Grant {
	g := authz.Grant{ID: id, Subject: subject, Pattern: "docs.read", Scope: "*",
		Provenance: authz.AdminProvenance("root"), CreatedAt: 1}
	for _, f := range set {
		f(&g)
	}
	return g
}

func ofRole(role string) func(*authz.Grant) {
	return func(g *authz.Grant) { g.RoleID, g.Pattern = role, "" }
}

func at(scope string) func(*authz.Grant) { return func(g *authz.Grant) { g.Scope = scope } }

func revoke(id, user, scope string) authz.Revoke {
	return authz.Revoke{ID: id, UserID: user, Pattern: "docs.read", Scope: scope,
		Provenance: authz.AdminProvenance("root"), CreatedAt: 1}
}

func request(id string, createdAt int64) authz.Request {
	return authz.Request{ID: id, RequesterUserID: "u1", RoleID: "r1", Scope: "*", State: authz.RequestPending,
		Justification: map[string]string{}, Stages: []authz.Stage{{Kind: authz.StageAuto}}, CreatedAt: createdAt}
}

func entry(id string, instant int64) authz.AuditEntry {
	return authz.AuditEntry{ID: id, At: instant, Actor: "root", Action: "grant.create", Target: "t1"}
}

func insertGrants(list ...authz.Grant) []storage.Change {
	out := make([]storage.Change, len(list))
	for i, g := range list {
		out[i] = storage.InsertGrant{Grant: g}
	}
	return out
}

func (s *named) access(q storage.AccessQuery) storage.Access {
	s.w.Helper()
	a, err := s.ReadAccess(s.w.ctx, q)
	if err != nil {
		s.w.Fatalf("readAccess: %v", err)
	}
	return a
}

func (s *named) head() int64 {
	s.w.Helper()
	head, err := s.HeadSeq(s.w.ctx)
	if err != nil {
		s.w.Fatalf("headSeq: %v", err)
	}
	return head
}

// each runs f n times at once and waits.
func each(n int, f func(i int)) {
	done := make(chan struct{})
	for i := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			f(i)
		}()
	}
	for range n {
		<-done
	}
}
