package access_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/google/go-cmp/cmp"
)

func seqOf[T any](rows []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

func found(t *testing.T, findings iter.Seq2[access.DriftFinding, error]) []string {
	t.Helper()
	list := []string{}
	for f, err := range findings {
		if err != nil {
			t.Fatal(err)
		}
		at := f.Via.Kind
		if f.Via.Grant != nil {
			at += " " + f.Via.Grant.ID
		} else {
			at += fmt.Sprint(" ", f.Via.Role.ID, f.Via.GrantIDs)
		}
		list = append(list, fmt.Sprint(at, " ", f.Pattern, f.GainedKeys))
	}
	return list
}

func TestDriftNamesTheWildcardsInUseGrantsFirst(t *testing.T) {
	drift := access.NewDrift([]string{"a.c", "a.b.x", "a.gone"}, []string{"a.b.y", "a.c", "b.z", "a.b.x", "a.bb.y"})
	if diff := cmp.Diff(access.Drift{GainedKeys: []string{"a.b.y", "a.bb.y", "b.z"}, RemovedKeys: []string{"a.gone"}}, drift); diff != "" {
		t.Fatal(diff)
	}
	grants := []authz.Grant{
		{ID: "g1", RoleID: "r1"},
		{ID: "g2", Pattern: "a.b.*"},
		{ID: "g3", Pattern: "a.b.y"},
		{ID: "g4", Pattern: "*", ExpiresAt: authz.ExpiresAt(10)},
		{ID: "g5", Pattern: "*", ExpiresAt: authz.ExpiresAt(11)},
		{ID: "g6", RoleID: "r1"},
		{ID: "g7", RoleID: "r2", ExpiresAt: authz.ExpiresAt(-1)},
		{ID: "g8", RoleID: "r1", Pattern: "a.*"}, // confers its pattern only
		{ID: "g9", RoleID: "gone"},
	}
	roles := []authz.Role{
		{ID: "r1", Patterns: []string{"b.z", "c.*", "b.*", "a.*"}},
		{ID: "r2", Patterns: []string{"*"}},
		{ID: "r3", Patterns: []string{"*"}},
	}
	want := []string{
		"grant g2 a.b.*[a.b.y]", "grant g5 *[a.b.y a.bb.y b.z]", "grant g8 a.*[a.b.y a.bb.y]",
		"role r1[g1 g6] b.*[b.z]", "role r1[g1 g6] a.*[a.b.y a.bb.y]",
	}
	if diff := cmp.Diff(want, found(t, drift.Findings(seqOf(grants, nil), seqOf(roles, nil), 10))); diff != "" {
		t.Error(diff)
	}
}

func TestDriftWithoutGainedKeysReadsNoRow(t *testing.T) {
	boom := errors.New("boom")
	drift := access.NewDrift([]string{"a.b", "a.c"}, []string{"a.b"})
	if got := found(t, drift.Findings(seqOf[authz.Grant](nil, boom), seqOf[authz.Role](nil, boom), 1)); len(got) != 0 {
		t.Error(got)
	}
}

func TestDriftEndsWithTheFirstError(t *testing.T) {
	boom := errors.New("boom")
	drift := access.NewDrift(nil, []string{"a.b"})
	grants, roles := []authz.Grant{{ID: "g", Pattern: "*"}, {ID: "h", RoleID: "r"}}, []authz.Role{{ID: "r", Patterns: []string{"a.*"}}}
	for name, findings := range map[string]iter.Seq2[access.DriftFinding, error]{
		"of the roles":  drift.Findings(seqOf(grants, nil), seqOf(roles, boom), 1),
		"of the grants": drift.Findings(seqOf(grants, boom), seqOf(roles, nil), 1),
	} {
		var last error
		for f, err := range findings {
			if last != nil {
				t.Errorf("%s: went on after the error", name)
			}
			if last = err; err == nil && f.Via.Role != nil {
				t.Errorf("%s: a finding by role, though the grants were not read to their end", name)
			}
		}
		if !errors.Is(last, boom) {
			t.Errorf("%s: ended with %v", name, last)
		}
	}
	for range drift.Findings(seqOf(grants, nil), seqOf(roles, nil), 1) {
		break // a consumer may stop
	}
}
