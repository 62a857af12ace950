package api

import (
	"bufio"
	"context"
	"io"

	"github.com/authzhost/authz/sdk/provider"
)

// reconcileRows takes the ids that exist in place of the predicates; a list that
// is absent is no predicate, an empty one says that nothing exists.
func reconcileRows(c *call) action {
	in := provider.Reconciliation{
		UserExists: c.listed("users"), OrgExists: c.listed("orgs"), ScopeExists: c.listed("scopes"),
		Sweep: c.flag("sweep"), KeepRoleGrants: c.flag("keepRoleGrants"),
	}
	if (c.has("provenance") || c.actor != nil) && in.Sweep {
		in.Provenance = c.provenance(c.object)
	}
	return func(ctx context.Context) (any, error) {
		found, err := c.local.ReconcileRows(ctx, in)
		if err != nil {
			return nil, err
		}
		return rowStream(func(_ context.Context, to io.Writer) error { return writeReconciled(to, found) }), nil
	}
}

// listed is the predicate of a list of ids; nil when absent.
func (c *call) listed(field string) provider.Exists {
	ids := c.texts(field)
	if ids == nil {
		return nil
	}
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	return func(_ context.Context, id string) (bool, error) { return known[id], nil }
}

func writeReconciled(to io.Writer, found provider.Reconciled) error {
	w := bufio.NewWriterSize(to, streamBuffer)
	w.WriteString(`{"orphanedGrants":`)
	if err := writeRows(w, found.OrphanedGrants); err != nil {
		return err
	}
	w.WriteString(`,"orphanedRevokes":`)
	if err := writeRows(w, found.OrphanedRevokes); err != nil {
		return err
	}
	w.WriteString(`,"danglingRoleGrants":`)
	if err := writeRows(w, found.DanglingRoleGrants); err != nil {
		return err
	}
	w.WriteString(`,"swept":`)
	if err := newRowEncoder(w).write(found.Swept); err != nil {
		return err
	}
	w.WriteByte('}')
	return w.Flush()
}

func writeRows[T any](w *bufio.Writer, rows []T) error {
	row := newRowEncoder(w)
	w.WriteByte('[')
	for i, item := range rows {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := row.write(item); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}
