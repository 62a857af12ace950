package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Verify is what an application needs of the mesh to start.
type Verify struct {
	Read, Write []string // partitions of peers that it will open, and how

	// OrgRoot is whether the application is constructed as an org root.
	OrgRoot bool

	// Namespaces are those of its own catalog; nil is not compared.
	Namespaces []string

	// Imports is whether rows of other members take part in its checks.
	Imports bool

	// PersistsEvents is whether the application keeps its events in the log.
	PersistsEvents bool
}

// Verify judges whether the application may start. Everything that stands against it is
// in one MeshVerifyFailed. The warnings stand against nothing (spec: mesh §4).
func (c *Connection) Verify(ctx context.Context, v Verify) (warnings []string, err error) {
	m, err := c.Registry(ctx)
	if err != nil {
		return nil, err
	}
	f := findings{c: c}
	if m == nil {
		f.add(authz.MeshNoRegistry, authz.MeshFinding{}, "%s", errNoRegistry().Error())
		return nil, f.err()
	}
	own, member := m.Member(c.partition)
	if !member {
		f.add(authz.MeshNotAMember, authz.MeshFinding{Partition: c.partition}, "partition %s is no member of the mesh", spell.Quote(c.partition))
		return nil, f.err()
	}
	f.namespaces(own, v.Namespaces)
	f.orgRoot(m, v.OrgRoot)
	if err := f.peers(ctx, m, v); err != nil {
		return nil, err
	}
	inbound := slices.ContainsFunc(m.Into(c.partition), func(e authz.MeshEdge) bool { return e.Mode == authz.MeshWrite })
	if inbound || len(v.Write) > 0 {
		f.requirements(c.partition, v.PersistsEvents)
	}
	if !v.PersistsEvents && (v.Imports || m.Org != nil) && !inbound && len(v.Write) == 0 {
		f.add(authz.MeshEventsNotPersisted, authz.MeshFinding{Partition: c.partition},
			"rows of other partitions take part in checks of %s, and it does not persist events (events.persist), by which its caches follow them", spell.Quote(c.partition))
	}
	if d := c.driver.Durable; d != nil && !*d && slices.ContainsFunc(m.Edges, func(e authz.MeshEdge) bool { return e.From == c.partition || e.To == c.partition }) {
		warnings = append(warnings, fmt.Sprintf("the storage driver %s does not keep its rows, and edges of the mesh lead to or from %s", spell.Quote(c.driver.Name), spell.Quote(c.partition)))
	}
	return warnings, f.err()
}

type findings struct {
	c    *Connection
	list []authz.MeshFinding
}

func (f *findings) add(code authz.MeshCode, about authz.MeshFinding, format string, args ...any) {
	about.Code, about.Message = code, fmt.Sprintf(format, args...)
	f.list = append(f.list, about)
}

// found adds a refusal of this package; any other error it returns.
func (f *findings) found(partition string, err error) error {
	var refused *authz.MeshError
	if !errors.As(err, &refused) {
		return err
	}
	f.add(refused.Code, authz.MeshFinding{Partition: partition}, "%s", refused.Message)
	return nil
}

func (f *findings) err() error {
	if len(f.list) == 0 {
		return nil
	}
	texts := make([]string, len(f.list))
	for i, finding := range f.list {
		texts[i] = string(finding.Code) + ": " + finding.Message
	}
	return &authz.MeshError{Code: authz.MeshVerifyFailed, Findings: f.list,
		Message: "the application does not fit into the mesh: " + strings.Join(texts, "; ")}
}

func (f *findings) namespaces(own authz.MeshMember, declared []string) {
	if declared != nil && !slices.Equal(sorted(declared), sorted(own.Namespaces)) {
		f.add(authz.MeshNamespacesMismatch, authz.MeshFinding{Partition: own.Partition},
			"the catalog of %s declares the namespaces %s, and the registry has %s",
			spell.Quote(own.Partition), spell.QuoteList(sorted(declared)), spell.QuoteList(sorted(own.Namespaces)))
	}
}

func (f *findings) orgRoot(m *authz.Mesh, orgRoot bool) {
	own := authz.MeshFinding{Partition: f.c.partition}
	switch {
	case orgRoot && m.Org != nil && m.Org.Partition != f.c.partition:
		f.add(authz.MeshOrgRootMismatch, own, "%s holds the organization's data, and %s is an org root of its own: repeat the put or promotion that broke off, or move its organization with authz mesh promote",
			spell.Quote(m.Org.Partition), spell.Quote(f.c.partition))
	case !orgRoot && m.Org == nil:
		f.add(authz.MeshOrgNotDesignated, own, "%s is not an org root, and the mesh designates no partition that holds the organization's data",
			spell.Quote(f.c.partition))
	case !orgRoot && m.Org.Partition == f.c.partition:
		f.add(authz.MeshOrgRootMismatch, own, "%s holds the organization's data by the registry, and is no org root: repeat the promotion that broke off",
			spell.Quote(f.c.partition))
	}
}

// peers judges the edges to the peers and what they have published.
func (f *findings) peers(ctx context.Context, m *authz.Mesh, v Verify) error {
	for _, asked := range []struct {
		peers []string
		mode  authz.MeshMode
	}{{v.Read, authz.MeshRead}, {v.Write, authz.MeshWrite}} {
		for _, to := range asked.peers {
			if _, member := m.Member(to); !member {
				f.add(authz.MeshNotAMember, authz.MeshFinding{Partition: to}, "%s is no member of the mesh", spell.Quote(to))
				continue
			}
			if err := f.found(to, permitted(m, f.c.partition, to, asked.mode)); err != nil {
				return err
			}
			s, err := f.c.store(ctx, to)
			if err != nil {
				if err := f.found(to, err); err != nil {
					return err
				}
				continue
			}
			if _, published, err := s.GetCatalog(ctx); err != nil {
				return failed("read the catalog of "+to, err)
			} else if !published {
				f.add(authz.MeshPeerNotPublished, authz.MeshFinding{Partition: to}, "%s", notPublished(to).Message)
			}
			if asked.mode == authz.MeshWrite {
				persists, err := persisted(ctx, s)
				if err != nil {
					return failed("read the settings of "+to, err)
				}
				f.requirements(to, persists)
			}
		}
	}
	return nil
}

// requirements are what every process owes a partition that an inbound write edge
// leads into.
func (f *findings) requirements(partition string, persists bool) {
	for _, e := range f.c.lacking(partition, persists) {
		f.add(e.Code, authz.MeshFinding{Partition: partition}, "%s", e.Message)
	}
}

// lacking are the requirements of an inbound write edge that do not hold here
// (spec: mesh §8).
func (c *Connection) lacking(partition string, persists bool) (errs []*authz.MeshError) {
	if !c.driver.CrossProcess {
		errs = append(errs, &authz.MeshError{Code: authz.MeshLockNotCrossProcess, Partition: partition, DriverName: c.driver.Name,
			Message: "partition " + spell.Quote(partition) + " has writers in several processes, and the exclusive sections of the storage driver " +
				spell.Quote(c.driver.Name) + " hold within one process only"})
	}
	if !persists {
		errs = append(errs, &authz.MeshError{Code: authz.MeshEventsNotPersisted, Partition: partition, DriverName: c.driver.Name,
			Message: "partition " + spell.Quote(partition) + " has writers in several processes, and only a persisted event log tells each of them what the others wrote"})
	}
	return errs
}

// permitted refuses what no edge permits.
func permitted(m *authz.Mesh, from, to string, mode authz.MeshMode) error {
	reach := m.Reach(from, to)
	if reach == authz.MeshWrite || reach == mode {
		return nil
	}
	message := fmt.Sprintf("the registry has no edge by which %s may reach %s", spell.Quote(from), spell.Quote(to))
	if reach != "" {
		message = fmt.Sprintf("the edge from %s to %s permits reading, not writing", spell.Quote(from), spell.Quote(to))
	}
	return &authz.MeshError{Code: authz.MeshNoEdge, From: from, To: to, Mode: mode, Message: message}
}

func notPublished(to string) *authz.MeshError {
	return &authz.MeshError{Code: authz.MeshPeerNotPublished, To: to,
		Message: spell.Quote(to) + " has published no catalog: publish it with authz catalog publish"}
}
