package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// meshReport is what registry verify prints.
type meshReport struct {
	Findings []authz.MeshFinding `json:"findings"`
	Warnings []string            `json:"warnings"`
}

func (r meshReport) text(w io.Writer) {
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s: %s\n", f.Code, plain(f.Message))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning: %s\n", plain(warning))
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, "the application fits into the mesh")
	}
}

// verify judges the application as its host would at a start.
func (m *meshCommand) verify(ctx context.Context, conn *mesh.Connection) (report meshReport, err error) {
	report.Findings, report.Warnings = []authz.MeshFinding{}, []string{}
	catalogs, err := host.LoadCatalogs(m.cfg)
	if err != nil {
		return report, err
	}
	app, vocabulary := m.cfg.Applications[m.app], catalogs[m.app]
	own, err := conn.Storage(ctx)
	if err != nil {
		return report, err
	}
	orgRoot, err := conn.StoredOrgRoot(ctx)
	if err != nil {
		return report, err
	}
	want := mesh.Verify{Read: app.Mesh.Verify.Read, Write: app.Mesh.Verify.Write, Namespaces: host.OwnNamespaces(vocabulary),
		OrgRoot: app.OrgRoot, PersistsEvents: own.Info().Capabilities.Has(storage.CapEvents)}
	if orgRoot != nil {
		want.OrgRoot = *orgRoot
	}
	if asked := app.Mesh.OrgRoot; asked != nil && *asked != want.OrgRoot {
		report.Findings = append(report.Findings, authz.MeshFinding{Code: authz.MeshOrgRootMismatch, Partition: app.Storage.Partition,
			Message: fmt.Sprintf("mesh.org_root is %v, and what is stored says %v", *asked, want.OrgRoot)})
	}
	want.Imports = app.Mesh.Imports
	if p := app.Events.Persist; p != nil {
		want.PersistsEvents = *p
	}
	found := func(warnings []string, err error) error {
		report.Warnings = append(report.Warnings, warnings...)
		var refused *authz.MeshError
		if errors.As(err, &refused) && refused.Code == authz.MeshVerifyFailed {
			report.Findings = append(report.Findings, refused.Findings...)
			return nil
		}
		return err
	}
	if err := found(conn.Verify(ctx, want)); err != nil || !app.Mesh.Imports || len(report.Findings) > 0 {
		return report, err
	}
	member := conn.Member(own, vocabulary, mesh.MemberOptions{Imports: true, Except: app.Mesh.Except})
	return report, found(member.VerifyImports(ctx))
}

func newMeshPromote() *cobra.Command {
	m, in := &meshCommand{}, mesh.Promote{}
	file := ""
	var c *cobra.Command
	c = m.command(&cobra.Command{
		Use: "promote", Short: "Move the organizations of members into one partition", Args: cobra.NoArgs,
		Long: `Move people, groups, roles and global rows of members into one partition. A dry run comes
first: it shows what moves, and each conflict with what may be done about it. With conflicts
nothing moves. They are settled by --resolutions, a file whose beginning is printed.

While data moves, writes of people, groups, roles and global rows are refused in every
partition concerned; checks go on. A promotion that was broken off is finished by the same
command, or taken back with 'authz mesh undo'.`,
		Example: `  authz mesh promote --to hq --dry-run --config host.yaml --app hq
  authz mesh promote --to hq --resolutions decided.yaml --config host.yaml --app hq`,
	}, true, func(ctx context.Context, _ []string, conn *mesh.Connection) error {
		m.next = settledBy(c, file)
		if file != "" {
			decided, err := readResolutions(m.in, file, !m.yes && !in.DryRun)
			if err != nil {
				return err
			}
			in.Fingerprint, in.Resolutions = decided.fingerprint, decided.decided
		}
		return m.promote(ctx, conn, in)
	})
	c.Flags().StringVar(&in.To, "to", "", "the partition that is to hold the organization (default: the designated one, else that of --app)")
	c.Flags().StringSliceVar(&in.From, "from", nil, "a member whose organization is moved; repeated for several (default: all that have one)")
	c.Flags().StringVar(&file, "resolutions", "", "a file that settles conflicts, JSON or YAML")
	_ = c.MarkFlagFilename("resolutions", "json", "yaml", "yml")
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "show what would move, and change nothing")
	return c
}

func (m *meshCommand) promote(ctx context.Context, conn *mesh.Connection, in mesh.Promote) error {
	dry := in
	dry.DryRun = true
	would, err := conn.PromoteOrgPartition(ctx, dry, m.by())
	if err != nil {
		return m.conflicts(in, err)
	}
	if p := would.Registry; len(would.From) == 0 && p.Promoting == nil && p.Org != nil && p.Org.Partition == would.To {
		return m.print(m.out, would, func(w io.Writer) { fmt.Fprintf(w, "nothing to move: %s holds the organization\n", plain(would.To)) })
	}
	if in.DryRun {
		return m.print(m.out, would, func(w io.Writer) { printPromoted(w, would, "would move") })
	}
	printPromoted(m.errs, would, "will move")
	if err := m.agreed(ctx, "Move the organization to "+would.To+"?"); err != nil {
		return err
	}
	if would.Registry.Promoting == nil { // else it goes on with the move that is under way
		in.To, in.Expect = would.To, &would.Registry.Version
		if len(would.From) > 0 {
			in.From = would.From
		}
	}
	done, err := conn.PromoteOrgPartition(ctx, in, m.by())
	if err != nil {
		return m.conflicts(in, err)
	}
	return m.print(m.out, done, func(w io.Writer) {
		printPromoted(w, done, "moved")
		fmt.Fprintf(w, "%s holds the organization; the registry is at version %d\n", plain(done.Registry.Org.Partition), done.Registry.Version)
	})
}

// conflicts shows what stands against a merge.
func (m *meshCommand) conflicts(in mesh.Promote, err error) error {
	var conflict *authz.PromotionConflictError
	if !errors.As(err, &conflict) || conflict.Code == authz.InvalidResolution && m.format == "text" {
		return err
	}
	to := cmp.Or(in.To, "the target")
	named := sides{current: to, currentID: to, incoming: "the member", incomingID: "member"}
	if len(in.From) == 1 {
		named.incoming, named.incomingID = in.From[0], in.From[0]
	}
	tell := m.errs
	if in.DryRun {
		tell = m.out
	}
	printed := m.print(m.out, openConflicts{conflict.Fingerprint, conflict.Conflicts}, func(w io.Writer) {
		named.show(tell, w, conflict.Conflicts, conflict.Fingerprint, stillDecided(conflict, in.Resolutions))
	})
	return errors.Join(unsettled{err, m.format == "text", m.next}, printed)
}

func printPromoted(w io.Writer, p mesh.Promoted, verb string) {
	fmt.Fprintf(w, "%s from %s: %s\n", verb, plain(orDash(strings.Join(p.From, ", "))), countsText(p.Moved))
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "warning: %s\n", plain(warning))
	}
}

func countsText(c orgmerge.Counts) string {
	return fmt.Sprintf("%d people, %d groups, %d roles, %d global grants, %d global revokes, %d pending requests",
		c.Users, c.Groups, c.Roles, c.GlobalGrants, c.GlobalRevokes, c.PendingRequests)
}

func newMeshUndo() *cobra.Command {
	m := &meshCommand{}
	return m.command(&cobra.Command{
		Use: "undo", Short: "Take back a promotion that was broken off before anything moved", Args: cobra.NoArgs,
		Example: "  authz mesh undo --config host.yaml --app hq",
	}, true, func(ctx context.Context, _ []string, conn *mesh.Connection) error {
		if err := m.agreed(ctx, "Take the promotion back?"); err != nil {
			return err
		}
		after, err := conn.UndoPromotion(ctx, m.by())
		if err != nil {
			return err
		}
		return m.print(m.out, after, func(w io.Writer) {
			fmt.Fprintf(w, "the promotion is taken back; the registry is at version %d\n", after.Version)
		})
	})
}

func newMeshPurge() *cobra.Command {
	m := &meshCommand{}
	return m.command(&cobra.Command{
		Use: "purge", Short: "Delete what the application still holds of an organization that lives elsewhere", Args: cobra.NoArgs,
		Long: `Delete people, groups, roles and global rows that the application's own partition still
holds after its organization moved. Nobody reads them any more.`,
		Example: "  authz mesh purge --config host.yaml --app docs",
	}, true, func(ctx context.Context, _ []string, conn *mesh.Connection) error {
		counts, err := conn.Superseded(ctx)
		if err != nil {
			return err
		}
		if counts == (orgmerge.Counts{}) {
			return m.print(m.out, counts, func(w io.Writer) { fmt.Fprintln(w, "nothing to delete") })
		}
		fmt.Fprintln(m.errs, "will delete "+countsText(counts))
		unmoved, err := conn.Unmoved(ctx)
		if err != nil {
			return err
		}
		if unmoved {
			fmt.Fprintln(m.errs, "warning: nobody has moved them to where the organization lives. If you delete them they are lost; 'authz mesh promote --from "+conn.Partition()+"' moves them.")
		}
		if err := m.agreed(ctx, "Delete them?"); err != nil {
			return err
		}
		if counts, err = conn.PurgeSupersededOrgData(ctx, m.by()); err != nil {
			return err
		}
		return m.print(m.out, counts, func(w io.Writer) { fmt.Fprintln(w, "deleted "+countsText(counts)) })
	})
}
