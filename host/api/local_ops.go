package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

// importTimeout is for directories that take many commits, and for rows and logs
// that are read from end to end.
const importTimeout = 10 * time.Minute

// localEntries are the operations on an application that do not cross the
// network.
func localEntries() []entry {
	return []entry{
		{Operation: provider.Operation{Op: "explain", Kind: provider.Read, Required: []string{"principal", "key"}},
			read: explain},
		{Operation: provider.Operation{Op: "importDirectory", Kind: provider.Write, Required: []string{"snapshot", "source"}},
			read: importDirectory, within: importTimeout},
		{Operation: provider.Operation{Op: "lookUp", Kind: provider.Read, Required: []string{"subject"}}, read: lookUp},
		{Operation: provider.Operation{Op: "notifyScopeMoved", Kind: provider.Write, Required: []string{"scope"}},
			read: notifyScopeMoved},
		{Operation: provider.Operation{Op: "validateGrantableAt", Kind: provider.Read, Required: []string{"pattern", "scope"}},
			read: validateGrantableAt},
		{Operation: provider.Operation{Op: "validateKnownPattern", Kind: provider.Read, Required: []string{"pattern"}},
			read: validateKnownPattern},
		{Operation: provider.Operation{Op: "validateScopeType", Kind: provider.Read, Required: []string{"scope"}},
			read: validateScopeType},
		{Operation: provider.Operation{Op: "reconcileRows", Kind: provider.Write}, read: reconcileRows, within: importTimeout},
		{Operation: provider.Operation{Op: "listSodViolations", Kind: provider.Read}, read: listSodViolations},
		{Operation: provider.Operation{Op: "exportEntitlements", Kind: provider.Read}, read: exportEntitlements},
		{Operation: provider.Operation{Op: "listWildcardDrift", Kind: provider.Read, Required: []string{"sinceVersion"}},
			read: listWildcardDrift},
		{Operation: provider.Operation{Op: "listCatalogVersions", Kind: provider.Read}, read: listCatalogVersions},
		{Operation: provider.Operation{Op: "verifyAuditChain", Kind: provider.Read}, read: verifyAuditChain, within: importTimeout},
	}
}

func explain(c *call) action {
	p := principal(c.nested("principal"))
	key := c.id("key")
	scope := c.targetScope("scope")
	if scope == "" {
		scope = authz.Global
	}
	return func(ctx context.Context) (any, error) {
		if err := p.Validate(); err != nil {
			return nil, err
		}
		return c.local.Explain(ctx, p, key, scope)
	}
}

func lookUp(c *call) action {
	subject := c.id("subject")
	return func(ctx context.Context) (any, error) { return c.local.LookUp(ctx, subject) }
}

func notifyScopeMoved(c *call) action {
	scope := c.targetScope("scope")
	return func(ctx context.Context) (any, error) {
		return void{}, c.local.NotifyScopeMoved(ctx, scope)
	}
}

func validateScopeType(c *call) action {
	scope := c.targetScope("scope")
	return func(context.Context) (any, error) { return reasonOf(c.local.ValidateScopeType(scope)), nil }
}

// reasonResult is null when nothing stands against the pattern.
type reasonResult struct {
	Reason *string `json:"reason"`
}

func reasonOf(issue *authz.Issue) reasonResult {
	if issue == nil {
		return reasonResult{}
	}
	return reasonResult{&issue.Message}
}

// pattern reads a well-formed one.
func (c *call) pattern() string {
	pattern := c.text("pattern")
	if bad := authz.ValidatePattern(pattern); bad != nil {
		c.problem.refuse(authz.Validation("%s", bad.Reason))
	}
	return pattern
}

func validateGrantableAt(c *call) action {
	pattern, scope := c.pattern(), c.targetScope("scope")
	return func(context.Context) (any, error) { return reasonOf(c.local.ValidateGrantableAt(pattern, scope)), nil }
}

func validateKnownPattern(c *call) action {
	pattern := c.pattern()
	return func(context.Context) (any, error) { return reasonOf(c.local.ValidateKnownPattern(pattern)), nil }
}

func importDirectory(c *call) action {
	snapshot := directorySnapshot(c.nested("snapshot"))
	source := c.text("source")
	o := c.nested("options")
	options := directory.Options{Authoritative: o.flag("authoritative"), MaxDeactivations: o.optionalFraction("maxDeactivations"), Confirmed: o.flag("confirmed")}
	return func(ctx context.Context) (any, error) {
		return c.local.ImportDirectory(ctx, snapshot, source, options)
	}
}

// directorySnapshot keeps apart what is absent, which an import leaves untouched,
// and what is empty.
func directorySnapshot(o object) directory.Snapshot {
	s := directory.Snapshot{
		Memberships:    o.textLists("memberships"),
		ReportingEdges: o.textMap("reportingEdges"),
		Orgs:           o.textLists("orgs"),
	}
	if o.has("groups") {
		s.Groups = []directory.Group{}
	}
	for _, g := range o.objects("groups") {
		g.required("id", "a string")
		g.required("name", "a string")
		s.Groups = append(s.Groups, directory.Group{ID: g.text("id"), Name: g.text("name"),
			Description: g.text("description"), Parents: g.texts("parents")})
	}
	if o.has("users") {
		s.Users = []directory.User{}
	}
	for _, u := range o.objects("users") {
		u.required("userId", "a string")
		s.Users = append(s.Users, directory.User{UserID: u.text("userId"), Active: u.optionalFlag("active")})
	}
	return s
}

// textMap reads an object of strings; nil when absent.
func (o object) textMap(field string) map[string]string {
	return mapOf(o, field, "an object of strings", o.textOf)
}

// textLists reads an object of lists of strings; nil when absent.
func (o object) textLists(field string) map[string][]string {
	return mapOf(o, field, "an object of lists of strings", o.textsOf)
}

// mapOf reads an object whose names are data.
func mapOf[T any](o object, field, want string, read func(field string, raw json.RawMessage, want string) T) map[string]T {
	if !o.has(field) {
		return nil
	}
	nested, ok := o.objectOf(o.members[field])
	if !ok {
		o.refuse(field, want)
	}
	values := make(map[string]T, len(nested.members))
	for name, raw := range nested.members {
		values[name] = read(field, raw, want)
	}
	return values
}
