package api

import (
	"context"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

// importTimeout is for directories that take many commits, and for rows and logs
// that are read from end to end.
const importTimeout = 10 * time.Minute

func reading(op string) provider.Operation { return provider.Operation{Op: op, Kind: provider.Read} }
func writing(op string) provider.Operation { return provider.Operation{Op: op, Kind: provider.Write} }

func reports(op, list string) provider.Operation {
	return provider.Operation{Op: op, Kind: provider.Read, List: list}
}

// localEntries are the operations on an application that do not cross the
// network.
func localEntries() []entry {
	return []entry{
		own(writing("importDirectory"), importDirectory).lasting(importTimeout),
		own(reading("lookUp"), lookUp),
		own(writing("notifyScopeMoved"), notifyScopeMoved),
		own(reading("validateGrantableAt"), validateGrantableAt),
		own(reading("validateKnownPattern"), validateKnownPattern),
		own(reading("validateScopeType"), validateScopeType),
		acting(writing("reconcileRows"), reconcileRows).lasting(importTimeout),
		rows(reports("listSodViolations", "users"), listSodViolations),
		rows(reports("exportEntitlements", "users"), exportEntitlements),
		acting(reading("listWildcardDrift"), listWildcardDrift),
		rows(reports("listCatalogVersions", "versions"), listCatalogVersions),
		own(reading("verifyAuditChain"), verifyAuditChain).lasting(importTimeout),
	}
}

type subjectIn struct {
	Subject string `json:"subject" read:"required,id"`
}

func lookUp(ctx context.Context, c *call, in *subjectIn) (provider.Known, error) {
	return c.local.LookUp(ctx, in.Subject)
}

type scopeIn struct {
	Scope string `json:"scope" read:"required,target"`
}

func notifyScopeMoved(ctx context.Context, c *call, in *scopeIn) (void, error) {
	return void{}, c.local.NotifyScopeMoved(ctx, in.Scope)
}

func validateScopeType(_ context.Context, c *call, in *scopeIn) (reasonResult, error) {
	return reasonOf(c.local.ValidateScopeType(in.Scope)), nil
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

type patternIn struct {
	Pattern string `json:"pattern" read:"required,wellformed"`
}

type grantableIn struct {
	patternIn
	scopeIn
}

func validateGrantableAt(_ context.Context, c *call, in *grantableIn) (reasonResult, error) {
	return reasonOf(c.local.ValidateGrantableAt(in.Pattern, in.Scope)), nil
}

func validateKnownPattern(_ context.Context, c *call, in *patternIn) (reasonResult, error) {
	return reasonOf(c.local.ValidateKnownPattern(in.Pattern)), nil
}

type importDirectoryIn struct {
	Snapshot directory.Snapshot `json:"snapshot" read:"required"`
	Source   string             `json:"source" read:"required"`
	Options  directory.Options  `json:"options"`
}

func importDirectory(ctx context.Context, c *call, in *importDirectoryIn) (directory.Result, error) {
	return c.local.ImportDirectory(ctx, in.Snapshot, in.Source, in.Options)
}
