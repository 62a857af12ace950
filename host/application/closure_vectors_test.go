package application_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/internal/scripts"
	"github.com/authzhost/authz/sdk/authz"
)

type closureWorld struct {
	vectors.World
	Cases []struct {
		Principal authz.Principal
		Expect    json.RawMessage
	}
	ImplicitMembers map[string][]string
}

func TestVectorsSubjectClosure(t *testing.T) {
	vectors.Replay(t, "subject-closure.jsonl", nil, func(t *testing.T, w closureWorld) {
		for name, app := range inWorld(t, w.World) {
			for _, c := range w.Cases {
				access, err := app.GetSubjectAccess(t.Context(), c.Principal)
				must(t, err)
				got, err := json.Marshal(scripts.Reduced(access))
				must(t, err)
				if diff := cmp.Diff(scripts.Decoded(t, c.Expect), scripts.Decoded(t, got)); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", name, c.Principal, diff)
				}
			}
			if diff := cmp.Diff(w.ImplicitMembers, implicitMembers(t, app, w)); diff != "" {
				t.Errorf("%s, members (-want +got):\n%s", name, diff)
			}
		}
	})
}

// implicitMembers asks every user's closure for the implicit groups of a case: they
// are stored nowhere, and nothing lists their members.
func implicitMembers(t *testing.T, app *application.Application, w closureWorld) map[string][]string {
	t.Helper()
	if w.ImplicitMembers == nil {
		return nil
	}
	members := map[string][]string{}
	for group := range w.ImplicitMembers {
		members[group] = []string{}
	}
	for _, u := range w.Users {
		access, err := app.GetSubjectAccess(t.Context(), authz.UserPrincipal(u.UserID))
		must(t, err)
		for group := range members {
			if slices.Contains(access.Closure, group) {
				members[group] = append(members[group], u.UserID)
			}
		}
	}
	for _, list := range members {
		slices.Sort(list)
	}
	return members
}
