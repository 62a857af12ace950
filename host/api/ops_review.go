package api

import (
	"context"
	"io"
	"iter"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// The reports for auditors. Nothing of them is built whole: they may be about
// every user.

// reviewedIn selects the users that a report is about; nil is everybody.
type reviewedIn struct {
	UserIDs *[]string `json:"userIds,omitempty" read:"filter"`
}

func listSodViolations(ctx context.Context, c *call, in *reviewedIn) iter.Seq2[access.Violations, error] {
	return c.local.ListSodViolations(ctx, in.UserIDs)
}

func exportEntitlements(ctx context.Context, c *call, in *reviewedIn) iter.Seq2[access.UserEntitlements, error] {
	return c.local.ExportEntitlements(ctx, in.UserIDs)
}

type driftIn struct {
	SinceVersion int64 `json:"sinceVersion" read:"required"`
}

func listWildcardDrift(c *call, in *driftIn) action {
	return func(context.Context) (any, error) {
		return rowStream(func(ctx context.Context, to io.Writer) error {
			report, err := c.local.ListWildcardDrift(ctx, in.SinceVersion)
			if err != nil {
				return err
			}
			return writeList(to, report, "findings", 0, handing(report.Findings), nil)
		}), nil
	}
}

func listCatalogVersions(ctx context.Context, c *call, _ *none) iter.Seq2[catalog.Publication, error] {
	return c.local.ListCatalogVersions(ctx)
}

type verifyAuditIn struct {
	PriorHash string `json:"priorHash"`
}

func verifyAuditChain(ctx context.Context, c *call, in *verifyAuditIn) (authz.HashChainReport, error) {
	return c.local.VerifyAuditChain(ctx, in.PriorHash)
}
