package mesh

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// The record of the registry, in Partition.
const (
	collection = "mesh"
	registryID = "registry"
)

// formatVersion is that of the registry's document.
const formatVersion = 1

// cacheFor is how long a connection takes the registry as it read it, in milliseconds
// (spec: mesh §2.3).
const cacheFor = 5_000

// cache is the registry as it was read last.
type cache struct {
	mu   sync.Mutex
	kept *registry
	seen provider.EventLogHead // of the registry's log, by whoever follows it
}

// registry is the stored document, with the version of its record and the head of the
// log that it was read after.
type registry struct {
	*authz.Mesh // nil: none is stored
	record      int64
	head        authz.Position
	life        string
	at          int64
}

// Registry reads the registry as it is now; nil is none.
func (c *Connection) Registry(ctx context.Context) (*authz.Mesh, error) {
	r, err := c.fresh(ctx)
	if err != nil {
		return nil, err
	}
	return r.Mesh, nil
}

// Members lists the members; MemberFor and EdgesInto likewise read a registry that is
// at most 5 s old. Without one they are MeshNoRegistry.
func (c *Connection) Members(ctx context.Context) ([]authz.MeshMember, error) {
	m, err := c.recent(ctx)
	if err != nil {
		return nil, err
	}
	return m.Members, nil
}

// MemberFor finds the member that owns a namespace.
func (c *Connection) MemberFor(ctx context.Context, namespace string) (member authz.MeshMember, found bool, err error) {
	m, err := c.recent(ctx)
	if err != nil {
		return authz.MeshMember{}, false, err
	}
	member, found = m.Owner(namespace)
	return member, found, nil
}

// EdgesInto lists the edges that lead into a partition.
func (c *Connection) EdgesInto(ctx context.Context, partition string) ([]authz.MeshEdge, error) {
	m, err := c.recent(ctx)
	if err != nil {
		return nil, err
	}
	return m.Into(partition), nil
}

func errNoRegistry() error {
	return &authz.MeshError{Code: authz.MeshNoRegistry,
		Message: "the mesh has no registry yet: register its members with PutRegistry, or authz mesh registry put"}
}

// recent is a registry of at most cacheFor ago.
func (c *Connection) recent(ctx context.Context) (*authz.Mesh, error) {
	c.registry.mu.Lock()
	kept := c.registry.kept
	c.registry.mu.Unlock()
	now := c.clock()
	if kept == nil || kept.Mesh == nil || now < kept.at || kept.at+cacheFor <= now {
		var err error
		if kept, err = c.revalidated(ctx, kept); err != nil {
			return nil, err
		}
	}
	if kept.Mesh == nil {
		return nil, errNoRegistry()
	}
	return kept.Mesh, nil
}

// revalidated is what was kept where the log has not moved since, else what is stored.
func (c *Connection) revalidated(ctx context.Context, kept *registry) (*registry, error) {
	if kept != nil && kept.Mesh != nil && kept.head.Identity != "" {
		s, err := c.store(ctx, Partition)
		if err != nil {
			return nil, err
		}
		now := c.clock()
		head, err := s.Head(ctx)
		if err != nil {
			return nil, failed("read the registry", err)
		}
		if head == kept.head && s.Info().Incarnation == kept.life {
			same := *kept
			same.at = now
			c.keep(&same)
			return &same, nil
		}
	}
	return c.fresh(ctx)
}

// fresh reads what is stored.
func (c *Connection) fresh(ctx context.Context) (*registry, error) {
	s, err := c.store(ctx, Partition)
	if err != nil {
		return nil, err
	}
	r, err := c.read(ctx, s)
	if err != nil {
		return nil, failed("read the registry", err)
	}
	c.keep(r)
	return r, nil
}

// read reads the log's head first: what is kept is then at least as new as it.
func (c *Connection) read(ctx context.Context, s storage.Store) (*registry, error) {
	r := &registry{at: c.clock(), life: s.Info().Incarnation}
	if s.Info().Capabilities.Has(storage.CapEvents) {
		var err error
		if r.head, err = s.Head(ctx); err != nil {
			return nil, err
		}
	}
	row, found, err := s.GetRecord(ctx, collection, registryID)
	if err != nil || !found {
		return r, err
	}
	r.Mesh, r.record = new(authz.Mesh), row.Version
	decoder := json.NewDecoder(bytes.NewReader(row.Data))
	decoder.DisallowUnknownFields() // of a later version: its rules are not known here
	if err := decoder.Decode(r.Mesh); err != nil || r.FormatVersion != formatVersion {
		return nil, &authz.MeshError{Code: authz.MeshRegistryInvalid,
			Message: "the stored registry is of a version that this program cannot read"}
	}
	return r, nil
}

func (c *Connection) keep(r *registry) {
	c.registry.mu.Lock()
	defer c.registry.mu.Unlock()
	if seen := c.registry.seen; seen.Log == r.life && r.head.Seq < seen.Seq {
		return // it was read before what somebody has heard of
	}
	if kept := c.registry.kept; kept == nil || kept.at <= r.at {
		c.registry.kept = r
	}
}

// noticed drops the registry that was read before a head of its log.
func (c *Connection) noticed(head provider.EventLogHead) {
	c.registry.mu.Lock()
	defer c.registry.mu.Unlock()
	if seen := c.registry.seen; seen.Log == head.Log && head.Seq < seen.Seq {
		return // a look that began earlier and ended later
	}
	c.registry.seen = head
	if kept := c.registry.kept; kept != nil && (kept.head != head.Position || kept.life != head.Log) {
		c.registry.kept = nil
	}
}
