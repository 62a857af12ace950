package api

import (
	"context"
	"io"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/catalog"
)

// The reports for auditors. Nothing of them is built whole: they may be about
// every user.

func listSodViolations(c *call) action {
	ids := c.reviewed()
	return listing("users", 0, func(ctx context.Context) rowsOf[access.Violations] {
		return c.local.ListSodViolations(ctx, ids)
	}, nil)
}

func exportEntitlements(c *call) action {
	ids := c.reviewed()
	return listing("users", 0, func(ctx context.Context) rowsOf[access.UserEntitlements] {
		return c.local.ExportEntitlements(ctx, ids)
	}, nil)
}

func listWildcardDrift(c *call) action {
	since := c.integer("sinceVersion", 0)
	return func(context.Context) (any, error) {
		return rowStream(func(ctx context.Context, to io.Writer) error {
			report, err := c.local.ListWildcardDrift(ctx, since)
			if err != nil {
				return err
			}
			return writeList(to, report, "findings", 0, report.Findings, nil)
		}), nil
	}
}

func listCatalogVersions(c *call) action {
	return listing("versions", 0, func(ctx context.Context) rowsOf[catalog.Publication] {
		return c.local.ListCatalogVersions(ctx)
	}, nil)
}

func verifyAuditChain(c *call) action {
	prior := c.text("priorHash")
	return func(ctx context.Context) (any, error) { return c.local.VerifyAuditChain(ctx, prior) }
}

// reviewed reads the users that a report is about; nil when absent. Null is
// refused: it must never widen the report from somebody to everybody.
func (c *call) reviewed() *[]string {
	const field = "userIds"
	raw, ok := c.raw(field)
	if !ok {
		return nil
	}
	ids := c.textsOf(field, raw, "a list of strings")
	return &ids
}
