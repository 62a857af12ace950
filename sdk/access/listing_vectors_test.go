package access_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/access"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// listingCase is one line of listing.jsonl.
type listingCase struct {
	Kind    string          `json:"kind"`
	Granted []string        `json:"granted"`
	Revoked []string        `json:"revoked"`
	Plan    json.RawMessage `json:"plan"`
	Scopes  []string        `json:"scopes"`
	Options listingOptions  `json:"options"`
	Want    wantedSQL       `json:"want"`
}

type listingOptions struct {
	PathColumn, Separator                                     string
	ClosureTable, AncestorColumn, DescendantColumn, RowIDExpr string

	Placeholder access.Placeholder
	StartParam  int
	Token       string
}

// wantedSQL is either SQL or an error.
type wantedSQL struct {
	access.SQL
	Error *struct{ Message string } `json:"error"`
}

func TestVectorsListing(t *testing.T) {
	covers := func(c listingCase) bool { return c.Kind != "world" }
	vectors.Replay(t, "listing.jsonl", covers, func(t *testing.T, c listingCase) {
		switch c.Kind {
		case "plan":
			comparePlan(t, c.Plan, c.Granted, c.Revoked)
		case "path":
			got, err := access.PathFilter(c.Scopes, c.Options.path())
			c.Want.compare(t, got, err)
		case "closure":
			got, err := access.ClosureFilter(c.Scopes, c.Options.closure())
			c.Want.compare(t, got, err)
		default:
			t.Fatalf("unknown kind %q", c.Kind)
		}
	})
}

// comparePlan compares the plan as JSON has it, so that a list too much shows.
func comparePlan(t *testing.T, want json.RawMessage, granted, revoked []string) {
	t.Helper()
	text, err := json.Marshal(access.PlanListing(granted, revoked))
	if err != nil {
		t.Fatal(err)
	}
	var wanted, got any
	if err := errors.Join(json.Unmarshal(want, &wanted), json.Unmarshal(text, &got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("plan of %q without %q (-want +got)\n%s", granted, revoked, diff)
	}
}

func (o listingOptions) path() access.PathOptions {
	return access.PathOptions{PathColumn: o.PathColumn, Separator: o.Separator, ScopeToToken: o.scopeToToken(),
		Placeholder: o.Placeholder, StartParam: o.StartParam}
}

func (o listingOptions) closure() access.ClosureOptions {
	return access.ClosureOptions{ClosureTable: o.ClosureTable, AncestorColumn: o.AncestorColumn, DescendantColumn: o.DescendantColumn,
		RowIDExpr: o.RowIDExpr, ScopeToToken: o.scopeToToken(), Placeholder: o.Placeholder, StartParam: o.StartParam}
}

// scopeToToken knows the functions that the files' README names.
func (o listingOptions) scopeToToken() func(string) string {
	switch o.Token {
	case "instance":
		return func(scope string) string { _, instance, _ := strings.Cut(scope, ":"); return instance }
	case "upper":
		return strings.ToUpper
	case "type-dash-instance":
		return func(scope string) string { return strings.Replace(scope, ":", "-", 1) }
	case "":
		return nil
	}
	panic("unknown token function " + o.Token)
}

func (w wantedSQL) compare(t *testing.T, got access.SQL, err error) {
	t.Helper()
	if w.Error != nil {
		if err == nil || vectors.Wording() && err.Error() != w.Error.Message {
			t.Errorf("error = %v, want %s", err, w.Error.Message)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.SQL, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
