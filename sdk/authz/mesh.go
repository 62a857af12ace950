package authz

import "slices"

// Mesh is the registry of a mesh: which partitions of one database belong together,
// which of them may reach which, and where their organization lives
// (spec: mesh §2).
type Mesh struct {
	FormatVersion int          `json:"formatVersion"` // 1
	Version       int64        `json:"version"`       // grows by 1 with every change
	Members       []MeshMember `json:"members"`
	Edges         []MeshEdge   `json:"edges"`

	// Org is where the organization's data lives; nil while every member is its own
	// org root.
	Org *OrgDesignation `json:"org,omitempty"`

	// Promoting is the move of the organization's data that is under way, else nil.
	Promoting *OrgPromotion `json:"promoting,omitempty"`

	UpdatedAt int64  `json:"updatedAt"` // epoch milliseconds
	UpdatedBy string `json:"updatedBy"` // actor
}

// MeshMember is a partition and the namespaces that its application owns.
type MeshMember struct {
	Partition  string   `json:"partition"`
	Namespaces []string `json:"namespaces"`
}

// MeshEdge says that the member From may reach the whole partition of the member To.
type MeshEdge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Mode MeshMode `json:"mode"`
}

// MeshMode is what an edge permits (spec: mesh §2.1).
type MeshMode string

// The modes of an edge. MeshWrite permits reading too.
const (
	MeshRead  MeshMode = "read"
	MeshWrite MeshMode = "write"
)

// OrgDesignation names the partition that owns a mesh's people, groups, roles and
// global grants, since an instant in epoch milliseconds (spec: mesh §7).
type OrgDesignation struct {
	Partition string `json:"partition"`
	Since     int64  `json:"since"`
}

// OrgPromotion is a move of the organization's data to one partition
// (spec: mesh §7.1).
type OrgPromotion struct {
	ID    string   `json:"id"`
	To    string   `json:"to"`
	From  []string `json:"from"`
	Since int64    `json:"since"` // epoch milliseconds
}

// Member finds a member by its partition.
func (m *Mesh) Member(partition string) (MeshMember, bool) {
	for _, member := range m.Members {
		if member.Partition == partition {
			return member, true
		}
	}
	return MeshMember{}, false
}

// Owner finds the member that owns a namespace.
func (m *Mesh) Owner(namespace string) (MeshMember, bool) {
	for _, member := range m.Members {
		if slices.Contains(member.Namespaces, namespace) {
			return member, true
		}
	}
	return MeshMember{}, false
}

// Reach is what from may do in the partition to: the mode of its edge, or MeshRead
// without one where to is the org partition. "" is nothing (spec: mesh §2.1).
func (m *Mesh) Reach(from, to string) MeshMode {
	for _, e := range m.Edges {
		if e.From == from && e.To == to {
			return e.Mode
		}
	}
	if _, member := m.Member(from); member && from != to && m.Org != nil && m.Org.Partition == to {
		return MeshRead
	}
	return ""
}

// Into lists the edges that lead into a partition, as they are registered.
func (m *Mesh) Into(partition string) (edges []MeshEdge) {
	for _, e := range m.Edges {
		if e.To == partition {
			edges = append(edges, e)
		}
	}
	return edges
}
