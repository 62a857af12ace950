package mesh

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Bounds of a registry.
const (
	MaxMembers = 200
	MaxEdges   = 2000
)

// cloudNamespace is the hosted service's own.
const cloudNamespace = "cloud"

// Check lists what is wrong with the members, edges and designation of a registry, each
// issue with its path (spec: mesh §2.2). None is a registry that may be stored.
func Check(members []authz.MeshMember, edges []authz.MeshEdge, org *authz.OrgDesignation) []authz.Issue {
	var c checker
	c.members(members)
	c.edges(edges)
	if org != nil && !c.known[org.Partition] {
		c.issue("org.partition", "%s is no member", spell.Quote(org.Partition))
	}
	return c.issues
}

type checker struct {
	issues []authz.Issue
	known  map[string]bool
}

func (c *checker) issue(path, format string, args ...any) {
	c.issues = append(c.issues, authz.Issue{Severity: authz.SeverityError, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) members(members []authz.MeshMember) {
	c.known = map[string]bool{}
	if len(members) > MaxMembers {
		c.issue("members", "at most %d members are possible, not %d", MaxMembers, len(members))
	}
	owners := map[string]string{}
	for i, m := range members {
		path := fmt.Sprintf("members[%d]", i)
		if fault := partitionFault(m.Partition); fault != "" {
			c.issue(path+".partition", "%s %s", spell.Quote(m.Partition), fault)
		} else if c.known[m.Partition] {
			c.issue(path+".partition", "%s is a member already", spell.Quote(m.Partition))
		}
		c.known[m.Partition] = true
		for j, ns := range m.Namespaces {
			path := fmt.Sprintf("%s.namespaces[%d]", path, j)
			switch owner, taken := owners[ns]; {
			case !authz.IsSegment(ns):
				c.issue(path, "%s is no namespace", spell.Quote(ns))
			case ns == authz.InternalNamespace || ns == cloudNamespace:
				c.issue(path, "%s belongs to the product", spell.Quote(ns))
			case taken:
				c.issue(path, "%s belongs to %s already", spell.Quote(ns), spell.Quote(owner))
			}
			owners[ns] = m.Partition
		}
	}
}

func (c *checker) edges(edges []authz.MeshEdge) {
	if len(edges) > MaxEdges {
		c.issue("edges", "at most %d edges are possible, not %d", MaxEdges, len(edges))
	}
	seen := map[[2]string]bool{}
	for i, e := range edges {
		path := fmt.Sprintf("edges[%d]", i)
		for _, end := range []struct{ name, partition string }{{"from", e.From}, {"to", e.To}} {
			if !c.known[end.partition] {
				c.issue(path+"."+end.name, "%s is no member%s", spell.Quote(end.partition), c.nearest(end.partition))
			}
		}
		if e.From == e.To {
			c.issue(path, "an application needs no edge to itself")
		}
		if e.Mode != authz.MeshRead && e.Mode != authz.MeshWrite {
			c.issue(path+".mode", "must be %q or %q, not %s", authz.MeshRead, authz.MeshWrite, spell.Quote(string(e.Mode)))
		}
		if seen[[2]string{e.From, e.To}] {
			c.issue(path, "%s reaches %s by another edge already", spell.Quote(e.From), spell.Quote(e.To))
		}
		seen[[2]string{e.From, e.To}] = true
	}
}

func (c *checker) nearest(partition string) string {
	if near := spell.Nearest(partition, slices.Sorted(maps.Keys(c.known))); near != "" {
		return "; did you mean " + spell.Quote(near) + "?"
	}
	return ""
}

// partitionFault says why a partition is no member's; "" of one that may be.
func partitionFault(partition string) string {
	switch {
	case partition == "":
		return "is the unpartitioned dataset, which nobody shares"
	case strings.HasPrefix(partition, "__"):
		return "is reserved: names that begin with __ belong to the product"
	case storage.CheckPartition(partition) != nil:
		return "is no name of a partition: 1 to 63 of A-Z a-z 0-9 _ -"
	}
	return ""
}
