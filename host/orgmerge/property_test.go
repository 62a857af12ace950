package orgmerge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var sameRows = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b authz.Expiry) bool { return a == b })}

func expect(a, b orgmerge.Side, conflicts []authz.Conflict, decided map[string]authz.Resolution) *expected {
	e := &expected{sides: [2]orgmerge.Side{a, b}, decided: decided, conflict: map[string]bool{}}
	for _, c := range conflicts {
		e.conflict[c.ID] = true
	}
	return e
}

// Whatever is decided, everybody may use what the rows of both sides give together,
// and nothing else.
func TestTheMergedSetAnswersLikeBothSidesTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sides := drawSides(t, 2, shape{nested: true, implicit: true, policies: true, whole: true})
		result, conflicts, decided, ok := settle(t, sides[0], sides[1:], "")
		if !ok {
			t.Skip("blocked")
		}
		e := expect(sides[0], sides[1], conflicts, decided)
		if diff := cmp.Diff(answers(e.rowsOf), answers(ofSnapshot(result.Snapshot))); diff != "" {
			t.Fatalf("answers (-want +got)\n%s", diff)
		}
		applies(t, result.Snapshot)
	})
}

// Where nothing follows from the reporting tree, orgs, or groups said to be one, the
// merged set gives exactly what either side gave, less what either revokes.
func TestNobodyHoldsWhatNeitherSideGave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nested := rapid.Bool().Draw(t, "nested")
		sides := drawSides(t, 2, shape{nested: nested, policies: true})
		result, conflicts, decided, ok := settle(t, sides[0], sides[1:], "")
		if !ok {
			t.Skip("blocked")
		}
		for _, c := range conflicts {
			if c.Kind == authz.ConflictGroupID && (nested || decided[c.ID].Action == authz.ActionUnite) {
				t.Skip("cohorts became one, or lie in one")
			}
		}
		e := expect(sides[0], sides[1], conflicts, decided)
		if diff := cmp.Diff(e.literal(), answers(ofSnapshot(result.Snapshot))); diff != "" {
			t.Fatalf("answers (-want +got)\n%s", diff)
		}
	})
}

// Narrowed throughout, each application's keys are held by those alone to whom its own
// side gave them, and the organization's administration by nobody.
func TestNarrowingKeepsEverySideToItsOwnKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sides := drawSides(t, 2, shape{policies: true})
		result, conflicts, decided, ok := settle(t, sides[0], sides[1:], authz.ActionNarrow)
		if !ok {
			t.Skip("blocked")
		}
		for _, r := range decided {
			if r.Action == authz.ActionUnite {
				t.Skip("cohorts became one")
			}
		}
		asTheyCame := expect(sides[0], sides[1], conflicts, nil)
		gave := map[string]map[string]bool{sides[0].Namespaces[0]: asTheyCame.alone(0), sides[1].Namespaces[0]: asTheyCame.alone(1)}
		for held := range answers(ofSnapshot(result.Snapshot)) {
			_, key, _ := strings.Cut(held, " ")
			if !gave[authz.NamespaceOf(key)][held] {
				t.Fatalf("%s was given by neither side's own rows", held)
			}
		}
	})
}

// A merge that needs no decision changes nothing when it is done again. Ids of rows
// are still taken by others, and get the same new ones.
func TestMergingAgainChangesNothing(t *testing.T) {
	apart := strings.NewReplacer(`"g1"`, `"h1"`, `"g2"`, `"h2"`, `"g3"`, `"h3"`, `"g4"`, `"h4"`, "group:g", "group:h", `"r1"`, `"s1"`, `"r2"`, `"s2"`, `"r3"`, `"s3"`)
	rapid.Check(t, func(t *rapid.T) {
		sides := drawSides(t, 2, shape{nested: true, implicit: true, policies: true})
		raw, err := authz.Marshal(sides[1].Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		sides[1].Snapshot = readOrg([]byte(apart.Replace(string(raw))))
		for i := range sides {
			sides[i].Whole, sides[i].Named = true, nil
		}
		for i := range sides[1].Snapshot.Users {
			sides[1].Snapshot.Users[i].ManagerUserID = ""
		}
		first, err := orgmerge.Merge(sides[0], sides[1:], nil, "")
		if err != nil {
			t.Fatal(err)
		}
		applies(t, first.Snapshot)
		sides[0].Snapshot = first.Snapshot
		again, err := orgmerge.Merge(sides[0], sides[1:], nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Snapshot, again.Snapshot, sameRows); diff != "" {
			t.Fatalf("(-once +twice)\n%s", diff)
		}
	})
}

// Several sides in one call are the same as one call after the other.
func TestSeveralSidesAreMergedOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sides := drawSides(t, 3, shape{nested: true, implicit: true, policies: true, whole: true})
		current, incoming := sides[0], []orgmerge.Side{sides[2], sides[1]} // not in order
		at := cloneOf(sides)
		want, _, decided, ok := settle(t, current, incoming, "")
		if !ok {
			t.Skip("blocked")
		}
		if diff := cmp.Diff(at, sides, sameRows); diff != "" {
			t.Fatalf("a side was changed\n%s", diff)
		}
		var got orgmerge.Result
		for _, side := range sides[1:] {
			own := map[string]authz.Resolution{}
			for id, r := range decided {
				if rest, ok := strings.CutPrefix(id, side.Name+"/"); ok {
					own[rest] = r
				} else if strings.HasPrefix(id, "widens:current:") && side.Name == sides[1].Name {
					own[id] = r
				}
			}
			var err error
			if got, err = orgmerge.Merge(current, []orgmerge.Side{side}, own, ""); err != nil {
				t.Fatalf("%s: %v", side.Name, err)
			}
			current = orgmerge.Side{Name: current.Name, Whole: true, Snapshot: got.Snapshot, Named: slices.Concat(current.Named, side.Named)}
		}
		if diff := cmp.Diff(got.Snapshot, want.Snapshot, sameRows); diff != "" {
			t.Fatalf("(-one by one +at once)\n%s", diff)
		}
	})
}

func cloneOf(sides []orgmerge.Side) []orgmerge.Side {
	out := make([]orgmerge.Side, len(sides))
	for i, s := range sides {
		raw, err := authz.Marshal(s.Snapshot)
		if err != nil {
			panic(err)
		}
		out[i] = s
		out[i].Snapshot = readOrg(raw)
	}
	return out
}

// applies holds the merged set to what every application demands of a snapshot.
func applies(t interface{ Fatalf(string, ...any) }, s provider.OrgSnapshot) {
	var judge *application.Application // what can be told without a store
	if err := judge.CheckOrgSnapshot(provider.ApplyOrgSnapshotInput{Snapshot: s, Source: "merge:acme"}); err != nil {
		t.Fatalf("no application takes the merged set: %v", err)
	}
}
