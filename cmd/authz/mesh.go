package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func newMesh() *cobra.Command {
	c := &cobra.Command{
		Use:   "mesh",
		Short: "The applications of one organization over one database",
		Long: `Applications that keep their rows in partitions of one database can share people, groups,
roles and vocabulary: a registry says who belongs together and who may reach whom.

These commands start the application's storage plugin and read and write its database
themselves, beside running hosts. They act as the application that --app names; with one
application in the configuration it need not be named.`,
		Args: cobra.NoArgs, RunE: showHelp,
	}
	registry := &cobra.Command{Use: "registry", Short: "Show, replace and verify the registry", Args: cobra.NoArgs, RunE: showHelp}
	registry.AddCommand(newMeshShow(), newMeshPut(), newMeshVerify())
	member := &cobra.Command{Use: "member", Short: "Add and remove members", Args: cobra.NoArgs, RunE: showHelp}
	member.AddCommand(newMeshMemberAdd(), newMeshMemberRemove())
	edge := &cobra.Command{Use: "edge", Short: "Say who may reach whose partition", Args: cobra.NoArgs, RunE: showHelp}
	edge.AddCommand(newMeshEdgeAdd(), newMeshEdgeRemove())
	c.AddCommand(registry, member, edge, newMeshPromote(), newMeshUndo(), newMeshPurge())
	return c
}

// meshCommand is what the commands of the mesh have alike.
type meshCommand struct {
	configFlags
	outputFlag
	app string
	yes bool

	cfg  *config.Config // once it is connected
	next string         // the command that takes decisions about conflicts

	in   *bufio.Reader
	out  io.Writer
	errs io.Writer
}

// command makes a cobra command of one that works with a connection.
func (m *meshCommand) command(c *cobra.Command, changes bool, run func(ctx context.Context, args []string, conn *mesh.Connection) error) *cobra.Command {
	m.addConfig(c, "")
	m.outputFlag.add(c)
	c.Flags().StringVar(&m.app, "app", "", "the application that acts")
	_ = c.RegisterFlagCompletionFunc("app", m.completeApp)
	if changes {
		c.Flags().BoolVarP(&m.yes, "yes", "y", false, "do not ask before something is changed")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := m.check(); err != nil {
			return err
		}
		m.in, m.out, m.errs = bufio.NewReader(c.InOrStdin()), c.OutOrStdout(), c.ErrOrStderr()
		return offline(c.Context(), func(ctx context.Context) error {
			return m.connected(ctx, func(conn *mesh.Connection) error { return run(ctx, args, conn) })
		})
	}
	needs(c, "config")
	return c
}

func (m *meshCommand) completeApp(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	cfg, err := m.load(nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return sortedNames(cfg.Applications), cobra.ShellCompDirectiveNoFileComp
}

func sortedNames(apps map[string]config.Application) (names []string) {
	for name := range apps {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// connected opens the application's way into the mesh.
func (m *meshCommand) connected(ctx context.Context, use func(*mesh.Connection) error) error {
	cfg, err := m.load(nil)
	if err != nil {
		return err
	}
	name := m.app
	if names := sortedNames(cfg.Applications); name == "" {
		if len(names) != 1 {
			return usageError{fmt.Errorf("--app is required: the configuration has %s", strings.Join(names, ", "))}
		}
		name = names[0]
	}
	m.cfg, m.app = cfg, name
	app, ok := cfg.Applications[name]
	if !ok {
		hint := "; it has " + strings.Join(sortedNames(cfg.Applications), ", ")
		if near := spell.Nearest(name, sortedNames(cfg.Applications)); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return usageError{fmt.Errorf("the configuration has no application %s%s", spell.Quote(name), hint)}
	}
	if app.Storage.Partition == "" {
		return usageError{fmt.Errorf("application %s has no storage.partition: the unpartitioned dataset is in no mesh", spell.Quote(name))}
	}
	err = driven(ctx, cfg, app.Storage.Driver, visitOptions{logs: m.errs}, func(_ *pluginhost.Plugin, driver storage.Driver) error {
		conn, err := mesh.Connect(mesh.Options{Partition: app.Storage.Partition, Driver: driver.Info(), Open: driver.Open})
		if err != nil {
			return err
		}
		return errors.Join(use(conn), conn.Close())
	})
	return err
}

// by is who the audit log names.
func (m *meshCommand) by() authz.Provenance { return authz.AdminProvenance("cli:" + login()) }

// agreed asks before something is changed.
func (m *meshCommand) agreed(ctx context.Context, question string) error {
	if m.yes || confirm(ctx, m.in, m.errs, question) {
		return nil
	}
	return usageError{errDeclined}
}

// change puts the registry that edit makes of the stored one, after a look at the plan.
func (m *meshCommand) change(ctx context.Context, conn *mesh.Connection, edit func(*mesh.Put) error) error {
	stored, err := conn.Registry(ctx)
	if err != nil {
		return err
	}
	before := stored
	if before == nil {
		before = &authz.Mesh{}
	}
	put := mesh.Put{Members: slices.Clone(before.Members), Edges: slices.Clone(before.Edges), Expect: &before.Version}
	if err := edit(&put); err != nil {
		return err
	}
	plan := mesh.Plan(before, put)
	if len(plan) == 0 {
		return m.print(m.out, before, func(w io.Writer) { fmt.Fprintln(w, "nothing to change") })
	}
	for _, line := range plan {
		fmt.Fprintln(m.errs, line)
	}
	if err := m.agreed(ctx, "Change the registry?"); err != nil {
		return err
	}
	after, err := conn.PutRegistry(ctx, put, m.by())
	if err != nil {
		return err
	}
	return m.print(m.out, after, func(w io.Writer) { fmt.Fprintf(w, "the registry is at version %d\n", after.Version) })
}

func newMeshShow() *cobra.Command {
	m := &meshCommand{}
	return m.command(&cobra.Command{
		Use: "show", Short: "Show members, edges and where the organization lives", Args: cobra.NoArgs,
		Example: "  authz mesh registry show --config host.yaml --app docs",
	}, false, func(ctx context.Context, _ []string, conn *mesh.Connection) error {
		registry, err := conn.Registry(ctx)
		if err != nil {
			return err
		}
		return m.print(m.out, registry, func(w io.Writer) { printMesh(w, registry) })
	})
}

func printMesh(w io.Writer, r *authz.Mesh) {
	if r == nil {
		fmt.Fprintln(w, "the mesh has no registry yet: authz mesh registry put FILE")
		return
	}
	rows := [][]string{{"PARTITION", "NAMESPACES", "READS", "WRITES", ""}}
	for _, member := range r.Members {
		reach := map[authz.MeshMode][]string{}
		for _, e := range r.Edges {
			if e.From == member.Partition {
				reach[e.Mode] = append(reach[e.Mode], e.To)
			}
		}
		note := ""
		if r.Org != nil && r.Org.Partition == member.Partition {
			note = "holds the organization"
		}
		rows = append(rows, []string{member.Partition, orDash(strings.Join(member.Namespaces, ",")),
			orDash(strings.Join(reach[authz.MeshRead], ",")), orDash(strings.Join(reach[authz.MeshWrite], ",")), note})
	}
	table(w, rows)
	fmt.Fprintf(w, "version %d, by %s\n", r.Version, plain(r.UpdatedBy))
	if p := r.Promoting; p != nil {
		fmt.Fprintf(w, "the organization of %s is being moved to %s: finish with 'authz mesh promote', or take it back with 'authz mesh undo'\n",
			plain(strings.Join(p.From, ", ")), plain(p.To))
	}
}

// registryFile is a registry as a file has it.
type registryFile struct {
	Members []authz.MeshMember `json:"members"`
	Edges   []authz.MeshEdge   `json:"edges"`
	Org     *string            `json:"org"`
}

func newMeshPut() *cobra.Command {
	m := &meshCommand{}
	return m.command(&cobra.Command{
		Use: "put FILE", Short: "Replace the registry by a file's, JSON or YAML; - is standard input", Args: cobra.ExactArgs(1),
		Long: `Replace the registry by a file's, JSON or YAML. What changes is shown before.

  members:
    - {partition: docs, namespaces: [docs]}
    - {partition: billing, namespaces: [billing, invoicing]}
    - {partition: hq, namespaces: []}
  edges:
    - {from: docs, to: billing, mode: read}
    - {from: hq, to: docs, mode: write}

org: hq says that this partition holds the organization's data already, in a new mesh;
to move data there is 'authz mesh promote'. Without org the designation stays.`,
		Example: "  authz mesh registry put mesh.yaml --config host.yaml --app hq",
	}, true, func(ctx context.Context, args []string, conn *mesh.Connection) error {
		var file registryFile
		if err := input.Into(m.in, args[0], &file); err != nil {
			return err
		}
		return m.change(ctx, conn, func(p *mesh.Put) error {
			p.Members, p.Edges, p.Org = file.Members, file.Edges, file.Org
			return nil
		})
	})
}

func newMeshVerify() *cobra.Command {
	m := &meshCommand{}
	return m.command(&cobra.Command{
		Use: "verify", Short: "Say whether the application could start in the mesh", Args: cobra.NoArgs,
		Long: `Say whether the application could start in the mesh, as 'authz serve' judges it: its
membership, its namespaces, its peers, its imports, and where the organization lives.`,
		Example: "  authz mesh registry verify --config host.yaml --app docs",
	}, false, func(ctx context.Context, _ []string, conn *mesh.Connection) error {
		report, err := m.verify(ctx, conn)
		if err != nil {
			return err
		}
		if err := m.print(m.out, report, func(w io.Writer) { report.text(w) }); err != nil || len(report.Findings) == 0 {
			return err
		}
		return fmt.Errorf("%d findings", len(report.Findings))
	})
}

func newMeshMemberAdd() *cobra.Command {
	m := &meshCommand{}
	var namespaces []string
	c := m.command(&cobra.Command{
		Use: "add PARTITION", Short: "Make a partition a member, or give a member other namespaces", Args: cobra.ExactArgs(1),
		Example: "  authz mesh member add billing --namespace billing --namespace invoicing --config host.yaml --app hq",
	}, true, func(ctx context.Context, args []string, conn *mesh.Connection) error {
		return m.change(ctx, conn, func(p *mesh.Put) error {
			added := authz.MeshMember{Partition: args[0], Namespaces: append([]string{}, namespaces...)}
			if i := slices.IndexFunc(p.Members, func(o authz.MeshMember) bool { return o.Partition == args[0] }); i >= 0 {
				p.Members[i] = added
				return nil
			}
			p.Members = append(p.Members, added)
			return nil
		})
	})
	c.Flags().StringSliceVar(&namespaces, "namespace", nil, "a namespace that its application owns; repeated for several")
	return c
}

func newMeshMemberRemove() *cobra.Command {
	m := &meshCommand{}
	return m.command(&cobra.Command{
		Use: "remove PARTITION", Short: "Take a member, and the edges that touch it, out of the mesh", Args: cobra.ExactArgs(1),
		Example: "  authz mesh member remove billing --config host.yaml --app hq",
	}, true, func(ctx context.Context, args []string, conn *mesh.Connection) error {
		return m.change(ctx, conn, func(p *mesh.Put) error {
			if !slices.ContainsFunc(p.Members, func(o authz.MeshMember) bool { return o.Partition == args[0] }) {
				return usageError{fmt.Errorf("%s is no member", spell.Quote(args[0]))}
			}
			p.Members = slices.DeleteFunc(p.Members, func(o authz.MeshMember) bool { return o.Partition == args[0] })
			p.Edges = slices.DeleteFunc(p.Edges, func(e authz.MeshEdge) bool { return e.From == args[0] || e.To == args[0] })
			return nil
		})
	})
}

func newMeshEdgeAdd() *cobra.Command {
	m := &meshCommand{}
	write := false
	c := m.command(&cobra.Command{
		Use: "add FROM TO", Short: "Let one member reach the whole partition of another", Args: cobra.ExactArgs(2),
		Long: `Let one member reach the whole partition of another: to read it, or with --write to write
it under its own rules. An edge that exists gets the mode that is given.`,
		Example: "  authz mesh edge add docs billing --config host.yaml --app hq",
	}, true, func(ctx context.Context, args []string, conn *mesh.Connection) error {
		return m.change(ctx, conn, func(p *mesh.Put) error {
			added := authz.MeshEdge{From: args[0], To: args[1], Mode: authz.MeshRead}
			if write {
				added.Mode = authz.MeshWrite
			}
			if i := slices.IndexFunc(p.Edges, func(e authz.MeshEdge) bool { return e.From == added.From && e.To == added.To }); i >= 0 {
				p.Edges[i] = added
				return nil
			}
			p.Edges = append(p.Edges, added)
			return nil
		})
	})
	c.Flags().BoolVar(&write, "write", false, "let it write as well")
	return c
}

func newMeshEdgeRemove() *cobra.Command {
	m := &meshCommand{}
	return m.command(&cobra.Command{
		Use: "remove FROM TO", Short: "Take an edge away: what reaches by it ends within 5 s", Args: cobra.ExactArgs(2),
		Example: "  authz mesh edge remove docs billing --config host.yaml --app hq",
	}, true, func(ctx context.Context, args []string, conn *mesh.Connection) error {
		return m.change(ctx, conn, func(p *mesh.Put) error {
			gone := func(e authz.MeshEdge) bool { return e.From == args[0] && e.To == args[1] }
			if !slices.ContainsFunc(p.Edges, gone) {
				return usageError{fmt.Errorf("there is no edge from %s to %s", spell.Quote(args[0]), spell.Quote(args[1]))}
			}
			p.Edges = slices.DeleteFunc(p.Edges, gone)
			return nil
		})
	})
}
