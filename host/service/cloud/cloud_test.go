package cloud

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

func TestTheCatalogIsThatOfTheChapter(t *testing.T) {
	type row struct {
		Kind        catalog.Kind
		Destructive bool
		AtApp       bool
	}
	read, action := catalog.KindRead, catalog.KindAction
	want := map[string]row{ // spec: hosted-api §5.1, line by line
		"cloud.applications.read":                 {read, false, true},
		"cloud.applications.register_application": {action, false, false},
		"cloud.applications.link_application":     {action, false, true},
		"cloud.applications.federate_application": {action, true, true},
		"cloud.applications.demote_application":   {action, true, true},
		"cloud.applications.publish_catalog":      {action, false, true},
		"cloud.applications.manage_credentials":   {action, false, true},
		"cloud.applications.manage_access":        {action, false, true},
		"cloud.applications.delete":               {action, true, true},
		"cloud.seats.read":                        {read, false, false},
		"cloud.seats.invite_seat":                 {action, false, false},
		"cloud.seats.update_seat":                 {action, false, false},
		"cloud.seats.delete":                      {action, true, false},
		"cloud.billing.read":                      {read, false, false},
		"cloud.billing.manage_caps":               {action, false, false},
		"cloud.registry.read":                     {read, false, false},
		"cloud.retention.read":                    {read, false, true},
		"cloud.retention.export_audit":            {action, false, true},
		"cloud.retention.manage_retention":        {action, false, true},
		"cloud.audit.read":                        {read, false, false},
	}
	got := map[string]row{}
	for _, key := range Catalog().Keys() {
		leaf, _ := Catalog().Leaf(key)
		got[key] = row{leaf.Kind, leaf.Destructive, Catalog().AppliesAt(key, App("docs"))}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, known := Evaluable().Leaf("authz_internal.access.read"); !known || !Evaluable().HasKey(SeatsRead) {
		t.Error("evaluate knows cloud and authz_internal")
	}
	for _, c := range []*catalog.Catalog{Catalog(), Evaluable()} {
		if issues := catalog.Lint(c); len(issues) > 0 {
			t.Errorf("lint: %v", issues)
		}
	}
}

func TestAGrantAtTheOrgSatisfiesTheGateAtAnApplicationAndNotTheOtherWayRound(t *testing.T) {
	decide := func(granted, asked string) bool {
		subject := "user:u"
		allowed, err := access.Decide(Catalog(), &authz.SubjectAccess{Closure: []string{subject}, Active: true,
			Grants: []authz.Grant{{Subject: subject, Pattern: LinkApplication, Scope: granted}}}, LinkApplication, access.NewChain(asked, nil), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		return allowed
	}
	for _, c := range []struct {
		granted, asked string
		want           bool
	}{
		{authz.Global, App("docs"), true}, {App("docs"), App("docs"), true},
		{App("docs"), App("mail"), false}, {App("docs"), authz.Global, false},
	} {
		if got := decide(c.granted, c.asked); got != c.want {
			t.Errorf("granted at %s, asked at %s: %v", c.granted, c.asked, got)
		}
	}
}

func TestAccountVocabularyIsToldFromTheRest(t *testing.T) {
	for pattern, want := range map[string]bool{"cloud.*": true, "cloud.seats.read": true, "*": false, "clouds.read": false, "docs.cloud.read": false} {
		if IsPattern(pattern) != want {
			t.Errorf("IsPattern(%q) = %v", pattern, !want)
		}
	}
	if IsRole(nil) || IsRole([]string{"cloud.*", "docs.read"}) || !IsRole([]string{"cloud.*"}) {
		t.Error("a role is account data when all its patterns are")
	}
	if id, ok := AppOf(App("docs")); !ok || id != "docs" {
		t.Errorf("AppOf: %q, %v", id, ok)
	}
	if _, ok := AppOf("docs.file:1"); ok {
		t.Error("another scope type names no application")
	}
}
