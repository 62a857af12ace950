package orgmerge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/google/go-cmp/cmp"
)

func TestARenameIsOfferedOnlyWhereNothingElseNamesTheID(t *testing.T) {
	role := `"roles":[{"id":"r","name":"R","patterns":["%s.a"]}],"users":[{"userId":"%[1]s","active":true,"groupIds":["g"],"orgIds":[]}]`
	current, incoming := pair(t, fmt.Sprintf(role, "docs"), fmt.Sprintf(role, "billing"))
	docs, files, billing := orgmerge.Named{Application: "docs"}, orgmerge.Named{Application: "files"}, orgmerge.Named{Application: "billing"}
	docs.Grant(authz.Grant{Subject: "group:g", RoleID: "r"})
	docs.Grant(authz.Grant{Subject: "user:g", RoleID: "r"})
	docs.Request(authz.Request{RoleID: "r", Stages: []authz.Stage{{Kind: authz.StageNamedApprovers, RoleID: "r"}}})
	files.Policy([]authz.Stage{{Kind: authz.StageAuto, Predicate: &authz.Predicate{Type: authz.PredicateMemberOf, Subject: "group:g"}}})
	billing.Grant(authz.Grant{Subject: "user:u", Pattern: "billing.a"})
	current.Named, incoming[0].Named = []orgmerge.Named{files, docs}, []orgmerge.Named{billing}
	_, err := orgmerge.Merge(current, incoming, nil, "")
	got := map[string][]authz.BlockedRename{}
	for _, c := range refusal(t, err, authz.UnresolvedConflicts).Conflicts {
		got[shown([]authz.Conflict{c})[0]] = c.Blocked
	}
	if diff := cmp.Diff(map[string][]authz.BlockedRename{
		"role:r role_id_collision [rename_incoming]": {
			{Action: authz.ActionRenameCurrent, Application: "docs", Reason: authz.BlockedByRows, Count: 2},
			{Action: authz.ActionRenameCurrent, Application: "docs", Reason: authz.BlockedByRequests, Count: 1}},
		"group:g group_id_collision [rename_incoming unite]": {
			{Action: authz.ActionRenameCurrent, Application: "docs", Reason: authz.BlockedByRows, Count: 1},
			{Action: authz.ActionRenameCurrent, Application: "files", Reason: authz.BlockedByCatalog, Count: 1}},
	}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// An id that only instance rows name would come to mean the other side's.
func TestAnIDThatOnlyInstanceRowsNameCollides(t *testing.T) {
	current, incoming := pair(t, "", `"roles":[{"id":"r","name":"R","patterns":["billing.a"]}]`)
	named := orgmerge.Named{Application: "docs"}
	named.Grant(authz.Grant{Subject: "user:u", RoleID: "r"})
	current.Named = []orgmerge.Named{named}
	_, err := orgmerge.Merge(current, incoming, nil, "")
	if diff := cmp.Diff([]string{"role:r role_id_collision [rename_incoming]"}, shown(refusal(t, err, authz.UnresolvedConflicts).Conflicts)); diff != "" {
		t.Error(diff)
	}
}

// Whole sides speak for the organization: nothing of theirs widens.
func TestRowsOfAWholeSideAreTheOrganizationsAlready(t *testing.T) {
	rows := `"globalGrants":[{"id":"%s","subject":"user:u","pattern":"*"}],"roles":[{"id":"admin","name":"A","patterns":["*","authz_internal.*","files.a"]}]`
	current, incoming := pair(t, fmt.Sprintf(rows, "a"), fmt.Sprintf(rows, "b"))
	current.Whole, incoming[0].Whole = true, true
	result, err := orgmerge.Merge(current, incoming, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"role admin A [*,authz_internal.*,files.a]", "grant a user:u *", "grant b user:u *"}, brief(result.Snapshot)); diff != "" {
		t.Error(diff)
	}
	incoming[0].Whole = false // its "*" meant billing: the two roles are alike in text only
	_, err = orgmerge.Merge(current, incoming, nil, "")
	if diff := cmp.Diff([]string{"role:admin role_id_collision [rename_incoming rename_current unite]",
		"widens:incoming:grant:b widens [narrow accept]", "widens:incoming:role:admin widens [narrow accept]"},
		shown(refusal(t, err, authz.UnresolvedConflicts).Conflicts)); diff != "" {
		t.Error(diff)
	}
}

// A grant of "*" of a side with two namespaces is two grants; one without any is none.
func TestNarrowingIntoNamespaces(t *testing.T) {
	const all = `"globalGrants":[{"id":"g","subject":"user:u","pattern":"*"}]`
	current, incoming := pair(t, all, all)
	current.Namespaces, incoming[0].Namespaces = nil, []string{"invoicing", "billing"}
	decided := decisions{"widens:current:grant:g": `{"action":"narrow"}`, "widens:incoming:grant:g": `{"action":"narrow"}`}.read(t)
	first, err := orgmerge.Merge(current, incoming, decided, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"grant g user:u billing.*", "grant m_… user:u invoicing.*"}, brief(first.Snapshot)); diff != "" {
		t.Error(diff)
	}
	again, err := orgmerge.Merge(current, incoming, decided, "")
	if diff := cmp.Diff(first, again, sameRows); err != nil || diff != "" {
		t.Errorf("another call computes another result: %v\n%s", err, diff)
	}
}

// Conflicts of several sides say whose they are. Those about the current side's own
// rows stand once.
func TestConflictsOfSeveralSides(t *testing.T) {
	role := func(p string) string { return `"roles":[{"id":"r","name":"R","patterns":["` + p + `"]}]` }
	current := orgmerge.Side{Name: "hq", Namespaces: []string{"docs"}, Snapshot: org(t, role("docs.a")+`,"globalGrants":[{"id":"g","subject":"user:u","pattern":"*"}]`)}
	incoming := []orgmerge.Side{
		{Name: "files", Namespaces: []string{"files"}, Snapshot: org(t, role("files.a"))},
		{Name: "billing", Namespaces: []string{"billing"}, Snapshot: org(t, role("billing.a")+`,"globalGrants":[{"id":"g","subject":"user:u","pattern":"*"}]`)},
	}
	_, err := orgmerge.Merge(current, incoming, nil, "")
	refused := refusal(t, err, authz.UnresolvedConflicts)
	if diff := cmp.Diff([]string{"billing/role:r role_id_collision [rename_incoming rename_current]", "billing/widens:incoming:grant:g widens [narrow accept]",
		"files/role:r role_id_collision [rename_incoming rename_current]", "widens:current:grant:g widens [narrow accept]"}, shown(refused.Conflicts)); diff != "" {
		t.Error(diff)
	}
	decided := decisions{"billing/role:r": `{"action":"rename_incoming","newId":"r_billing"}`, "billing/widens:incoming:grant:g": `{"action":"narrow"}`,
		"files/role:r": `{"action":"rename_incoming","newId":"r_files"}`, "widens:current:grant:g": `{"action":"accept"}`}.read(t)
	result, err := orgmerge.Merge(current, incoming, decided, refused.Fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"role r R [docs.a]", "role r_billing R [billing.a]", "role r_files R [files.a]", "grant g user:u *", "grant m_… user:u billing.*"}, brief(result.Snapshot)); diff != "" {
		t.Error(diff)
	}

	// Another way for billing changes what files contradicts: it is to be seen first.
	decided["billing/role:r"] = authz.Resolution{Action: authz.ActionRenameCurrent, NewID: "r_docs"}
	_, err = orgmerge.Merge(current, incoming, decided, refused.Fingerprint)
	if stale := refusal(t, err, authz.StaleResolutions); !strings.Contains(string(stale.Conflicts[2].Current), "billing.a") {
		t.Errorf("%s", stale.Conflicts[2].Current)
	} else if _, err := orgmerge.Merge(current, incoming, decided, stale.Fingerprint); err != nil {
		t.Error(err)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var current, incoming []string
	for i := range 80 {
		current = append(current, fmt.Sprintf(`{"id":"g%d","subject":"user:u","pattern":"docs.a"}`, i))
		incoming = append(incoming, fmt.Sprintf(`{"id":"g%d","subject":"user:u","pattern":"billing.a"}`, i))
	}
	a, b := pair(t, `"globalGrants":[`+strings.Join(current, ",")+`]`, `"globalGrants":[`+strings.Join(incoming, ",")+`]`)
	result, err := orgmerge.Merge(a, b, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(result.Warnings); n != 51 || result.Warnings[50] != "and 30 more: grants whose ids are taken" || result.Counts.GlobalGrants != 160 {
		t.Errorf("%d warnings, the last %q; %+v", n, result.Warnings[n-1], result.Counts)
	}
}

func TestNothingThatComesInIsNothing(t *testing.T) {
	current, _ := pair(t, `"roles":[{"id":"b","name":"B","patterns":["*"]},{"id":"a","name":"A","patterns":[]}]`, "")
	result, err := orgmerge.Merge(current, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"role a A []", "role b B [*]"}, brief(result.Snapshot)); diff != "" || result.Warnings == nil || result.Snapshot.Users == nil {
		t.Error(diff)
	}
}
