package apply_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/sdk/authz"
)

func TestCompleteSaysEverythingThatIsWrong(t *testing.T) {
	f := read(t, `
roles: [{id: a}, {id: a, patterns: [docs.*.x]}]
groups: [{name: x}]
grants: [{subject: bob, scope: docs}, {subject: everyone, role: a}, {subject: everyone, role: a, scope: '*'}]
`)
	wrong := f.Complete()
	want := []string{"name: give", `roles[1]: id "a" is declared twice`, `roles[1]: pattern "docs.*.x"`, "groups[0]: id is missing",
		`grants[0]: subject "bob"`, "grants[0]: give exactly one", `grants[0]: scope "docs"`, "grants[2]: says the same as grants[1]"}
	if len(wrong) != len(want) {
		t.Errorf("%q", wrong)
	}
	for i := range min(len(wrong), len(want)) {
		if !strings.HasPrefix(wrong[i], want[i]) {
			t.Errorf("fault %d is %q, want %q", i, wrong[i], want[i])
		}
	}
	for _, name := range []string{" x", "x "} {
		if len((&apply.File{Name: name}).Complete()) != 1 {
			t.Errorf("%q is a name", name)
		}
	}
}

func TestCompleteFillsWhatIsLeftOut(t *testing.T) {
	f := file(t, "name: x\nroles: [{id: r}]\ngroups: [{id: g, parents: [a, b, a]}]\ngrants: [{subject: everyone, role: r}]\n")
	if f.Roles[0].Name != "r" || f.Groups[0].Name != "g" || !slices.Equal(f.Groups[0].Parents, []string{"a", "b"}) || f.Grants[0].Scope != authz.Global {
		t.Errorf("%+v", f)
	}
	if f.Provenance().Actor() != "reconciler:apply:x" {
		t.Errorf("the actor is %s", f.Provenance().Actor())
	}
}

func TestAnExpiryInAFileIsAbsolute(t *testing.T) {
	for text, want := range map[string]int64{`"1970-01-02"`: 86_400_000, `"1970-01-01T00:00:01Z"`: 1000, `7`: 7} {
		var e apply.Expiry
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Expiry != authz.ExpiresAt(want) {
			t.Errorf("%s is %v, %v", text, e.Expiry, err)
		}
	}
	for _, text := range []string{`"30d"`, `"tomorrow"`, `true`, `1.5`} {
		var e apply.Expiry
		if err := json.Unmarshal([]byte(text), &e); err == nil || !strings.Contains(err.Error(), "is no instant: write 2027-01-31") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
