package scripts

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
)

// Fault is an error as the files have it.
type Fault struct {
	Name, Code, Message string
	Path                []string // of a graph_cycle
}

// UnmarshalJSON refuses members that would not be compared.
func (f *Fault) UnmarshalJSON(raw []byte) error {
	type plain Fault
	return strictly(raw, (*plain)(f))
}

// check compares an error with it; named puts symbols in place of ids. A message
// informs, but for the one of a cycle.
func (f Fault) check(t testing.TB, where string, err error, named func(string) string) {
	t.Helper()
	var typed authz.Error
	if !errors.As(err, &typed) {
		t.Fatalf("%s: got %v, want the error %+v", where, err, f)
	}
	if diff := cmp.Diff([]string{f.Name, f.Code}, []string{typed.ErrorName(), typed.ErrorCode()}); diff != "" {
		t.Fatalf("%s: %q:\n%s", where, err, diff)
	}
	if f.Code != string(authz.CodeGraphCycle) {
		return
	}
	if named(err.Error()) != f.Message {
		t.Fatalf("%s: message %q, want %q", where, err, f.Message)
	}
	var refused *authz.WriteRejectedError
	if f.Path == nil || !errors.As(err, &refused) {
		return
	}
	path := make([]string, len(refused.Path))
	for i, id := range refused.Path {
		path[i] = named(id)
	}
	if diff := cmp.Diff(f.Path, path); diff != "" {
		t.Fatalf("%s: path (-want +got):\n%s", where, diff)
	}
}
