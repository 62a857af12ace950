package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// reconcileIn has the ids that exist in place of the predicates: a list that is
// absent is no predicate, an empty one says that nothing exists. Only a sweep needs
// somebody who is answerable.
type reconcileIn struct {
	Users          []string        `json:"users"`
	Orgs           []string        `json:"orgs"`
	Scopes         []string        `json:"scopes"`
	Sweep          bool            `json:"sweep"`
	KeepRoleGrants bool            `json:"keepRoleGrants"`
	Provenance     json.RawMessage `json:"provenance"`

	by *authz.Provenance
}

// Check reads the provenance of a sweep.
func (in *reconcileIn) Check() error {
	if !in.Sweep || len(in.Provenance) == 0 || isNull(in.Provenance) {
		return nil
	}
	by, err := authz.ParseProvenance(in.Provenance)
	in.by = &by
	return err
}

func reconcileRows(c *call, in *reconcileIn) action {
	ask := provider.Reconciliation{UserExists: listed(in.Users), OrgExists: listed(in.Orgs), ScopeExists: listed(in.Scopes),
		Sweep: in.Sweep, KeepRoleGrants: in.KeepRoleGrants}
	switch {
	case in.by != nil:
		ask.Provenance = *in.by
	case in.Sweep && c.problem.actor != nil:
		ask.Provenance = *c.problem.actor
	}
	return func(ctx context.Context) (any, error) {
		found, err := c.local.ReconcileRows(ctx, ask)
		if err != nil {
			return nil, err
		}
		return rowStream(func(_ context.Context, to io.Writer) error { return writeReconciled(to, found) }), nil
	}
}

// listed is the predicate of a list of ids; nil when absent.
func listed(ids []string) provider.Exists {
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
	if found.Superseded > 0 {
		fmt.Fprintf(w, `,"superseded":%d`, found.Superseded)
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
