package conformance_test

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// renamed opens another partition than was asked for.
type renamed struct {
	storage.Driver
	to func(string) string
}

func (r renamed) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := r.Driver.Open(ctx, r.to(partition))
	if err != nil {
		return nil, err
	}
	info := s.Info()
	info.Partition = partition
	named := wrapped(s)
	named.info = func() storage.StoreInfo { return info }
	return named, nil
}

var beginning = regexp.MustCompile(`^_*[A-Za-z0-9]*`)

// beside breaks a store that can reach the store of the partition B, or A from
// there.
func beside(broken func(s *store, other storage.Store)) func(storage.Driver) storage.Driver {
	return func(d storage.Driver) storage.Driver {
		return &driver{d, func(s *store) {
			name := map[string]string{"A": "B", "B": "A"}[s.Info().Partition]
			if name == "" {
				return
			}
			other, err := d.Open(context.Background(), name)
			if err == nil {
				broken(s, other)
			}
		}}
	}
}

var partitionMutants = []mutant{
	{name: "all partitions are one", kind: "foreign partition", cases: "I01 I04 I06 I10 I12 I16 I18 I20 I27", driver: func(d storage.Driver) storage.Driver {
		return renamed{d, func(string) string { return "" }}
	}},
	{name: "a partition is found by its name's beginning", kind: "foreign partition", cases: "I23", driver: func(d storage.Driver) storage.Driver {
		return renamed{d, func(name string) string {
			return beginning.FindString(name)
		}}
	}},
	{name: "a partition is found whatever its case", kind: "foreign partition", cases: "I23", driver: func(d storage.Driver) storage.Driver {
		return renamed{d, strings.ToLower}
	}},
	{name: "names are cut at 63", kind: "foreign partition", cases: "I22", driver: func(d storage.Driver) storage.Driver {
		return renamed{d, func(name string) string { return name[:min(63, len(name))] }}
	}},
	{name: "an unpartitioned store sees a partition", kind: "foreign partition", cases: "I24", driver: func(d storage.Driver) storage.Driver {
		return renamed{d, func(name string) string { return strings.TrimPrefix(name, "a") }}
	}},
	{name: "a read by id looks everywhere", kind: "foreign partition", cases: "I04", driver: beside(func(s *store, other storage.Store) {
		s.getGrant = func(ctx context.Context, id string) (authz.Grant, bool, error) {
			if g, found, err := s.Store.GetGrant(ctx, id); found || err != nil {
				return g, found, err
			}
			return other.GetGrant(ctx, id)
		}
	})},
	{name: "a deletion reaches every partition", kind: "foreign partition", cases: "I05 I08", driver: beside(func(s *store, other storage.Store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			for _, change := range c.Changes {
				switch change.(type) {
				case storage.DeleteGrant, storage.DeleteUser:
					_, _ = other.Commit(ctx, storage.Commit{ID: c.ID + " there", Changes: []storage.Change{change}})
				}
			}
			return s.Store.Commit(ctx, c)
		}
	})},
	{name: "an upsert reaches every partition", kind: "foreign partition", cases: "I07", driver: beside(func(s *store, other storage.Store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			for _, change := range c.Changes {
				if u, ok := change.(storage.UpsertUser); ok {
					if _, found, _ := other.GetUser(ctx, u.User.UserID); found {
						_, _ = other.Commit(ctx, storage.Commit{ID: c.ID + " there", Changes: []storage.Change{change}})
					}
				}
			}
			return s.Store.Commit(ctx, c)
		}
	})},
	{name: "counts add every partition", kind: "foreign partition", cases: "I03", driver: beside(func(s *store, other storage.Store) {
		s.countGrants = func(ctx context.Context, f storage.GrantFilter) (int64, error) {
			n, err := s.Store.CountGrants(ctx, f)
			m, _ := other.CountGrants(ctx, f)
			return n + m, err
		}
	})},
	{name: "revokes of every partition are listed", kind: "foreign partition", cases: "I02", driver: beside(func(s *store, other storage.Store) {
		s.listRevokes = func(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
			rows, err := collected(s.Store.ListRevokes(ctx, f, p))
			more, _ := collected(other.ListRevokes(ctx, f, p))
			return listOf(append(rows, more...), err)
		}
	})},
	{name: "direct members of every partition are listed", kind: "foreign partition", cases: "I08", driver: beside(func(s *store, other storage.Store) {
		s.members = func(ctx context.Context, group string, p storage.Page) iter.Seq2[string, error] {
			rows, err := collected(s.Store.ListUsersInGroup(ctx, group, p))
			more, _ := collected(other.ListUsersInGroup(ctx, group, p))
			return listOf(append(rows, more...), err)
		}
	})},
	{name: "readAccess takes roles from elsewhere", kind: "foreign partition", cases: "I09", driver: beside(func(s *store, other storage.Store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
			a, err := s.Store.ReadAccess(ctx, q)
			if there, otherErr := other.ReadAccess(ctx, q); err == nil && otherErr == nil {
				a.Roles = there.Roles
			}
			return a, err
		}
	})},
	{name: "catalog versions are shared", kind: "foreign partition", cases: "I11", driver: beside(func(s *store, other storage.Store) {
		s.getVersion = func(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
			if v, found, err := s.Store.GetCatalogVersion(ctx, version); found || err != nil {
				return v, found, err
			}
			return other.GetCatalogVersion(ctx, version)
		}
	})},
	{name: "the event log is shared", kind: "foreign partition", cases: "I13", driver: beside(func(s *store, other storage.Store) {
		s.eventsSince = func(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
			if other.Info().Partition == "A" {
				return other.EventsSince(ctx, after, limit)
			}
			return s.Store.EventsSince(ctx, after, limit)
		}
	})},
	{name: "a prune reaches every partition", kind: "foreign partition", cases: "I14", driver: beside(func(s *store, other storage.Store) {
		s.pruneEvents = func(ctx context.Context, p storage.PruneEvents) (int64, error) {
			_, _ = other.PruneEvents(ctx, p)
			return s.Store.PruneEvents(ctx, p)
		}
	})},
	{name: "the newest audit entry is anybody's", kind: "foreign partition", cases: "I15 I16", driver: beside(func(s *store, other storage.Store) {
		s.listAudit = func(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
			rows, err := collected(s.Store.ListAudit(ctx, f))
			more, _ := collected(other.ListAudit(ctx, f))
			return listOf(append(rows, more...), err)
		}
	})},
	{name: "metrics are pruned everywhere", kind: "foreign partition", cases: "I17", driver: beside(func(s *store, other storage.Store) {
		s.pruneMetrics = func(ctx context.Context, before int64) (int64, error) {
			_, _ = other.PruneMetrics(ctx, before)
			return s.Store.PruneMetrics(ctx, before)
		}
	})},
	{name: "sections know no partition", kind: "foreign partition", cases: "I18 I19", driver: beside(func(s *store, other storage.Store) {
		shared := s.Store
		if other.Info().Partition == "A" {
			shared = other
		}
		s.acquire = shared.Acquire
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Fences) > 0 {
				if _, err := shared.Commit(ctx, storage.Commit{ID: c.ID + " looks", Fences: c.Fences}); err != nil {
					return storage.CommitResult{}, err
				}
				c.Fences = nil
			}
			return s.Store.Commit(ctx, c)
		}
	})},
	{name: "commit ids are recognised in every partition", kind: "foreign partition", cases: "I06 I20", driver: beside(func(s *store, other storage.Store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if r, found, _ := other.GetCommit(ctx, c.ID); found {
				r.Replayed = true
				return r, nil
			}
			return s.Store.Commit(ctx, c)
		}
	})},
	{name: "records are read from elsewhere", kind: "foreign partition", cases: "I21", driver: beside(func(s *store, other storage.Store) {
		s.getRecord = func(ctx context.Context, collection, id string) (storage.Record, bool, error) {
			if r, found, err := other.GetRecord(ctx, collection, id); found {
				return r, found, err
			}
			return s.Store.GetRecord(ctx, collection, id)
		}
	})},
	{name: "scopes show the partition", kind: "foreign partition", cases: "I25", driver: func(d storage.Driver) storage.Driver {
		return &driver{d, func(s *store) {
			s.getGrant = func(ctx context.Context, id string) (authz.Grant, bool, error) {
				g, found, err := s.Store.GetGrant(ctx, id)
				g.Provenance.Via = s.Info().Partition
				return g, found, err
			}
		}}
	}},
	{name: "a volatile driver keeps its incarnation", kind: "lives", cases: "B67b", driver: func(d storage.Driver) storage.Driver {
		return &driver{d, func(s *store) {
			info := s.Store.Info()
			info.Incarnation = "always " + info.Partition
			s.info = func() storage.StoreInfo { return info }
		}}
	}},
	{name: "a driver without health tells all the same", kind: "declaration", cases: "S26", store: undeclared(storage.CapHealth)},
	{name: "a driver without renewal renews all the same", kind: "declaration", cases: "S25", store: undeclared(storage.CapRenewal)},
	{name: "a database that is well is told to be gone once it holds rows", kind: "lives", cases: "S27", store: func(s *store) {
		s.health = func(ctx context.Context) (storage.Health, error) {
			health, err := s.Store.Health(ctx)
			if _, found, _ := s.Store.GetRole(ctx, "r"); found {
				err = storage.Lost("", nil, "the content is another one")
			}
			return health, err
		}
	}},
	{name: "a closed store tells how its database is", kind: "lives", cases: "S27", store: func(s *store) {
		s.health = func(context.Context) (storage.Health, error) { return storage.Health{}, nil }
	}},
	{name: "a renewal replaces whatever is there", kind: "lives", cases: "S23", store: func(s *store) {
		s.renew = func(ctx context.Context, _ string) (string, error) { return s.Store.Renew(ctx, "") }
	}},
	{name: "a commit goes to whatever life there is", kind: "lives", cases: "S24", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			c.Incarnation = ""
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "the life of a commit is compared before its id", kind: "lives", cases: "S24", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if c.Incarnation != "" && c.Incarnation != s.Info().Incarnation {
				return storage.CommitResult{}, storage.ErrOtherLife()
			}
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "a commit of another life is refused as an outage", kind: "lives", cases: "S24", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			result, err := s.Store.Commit(ctx, c)
			if storage.IsLost(err) {
				err = storage.Unavailable(authz.OutcomeUnknown, nil, "lost")
			}
			return result, err
		}
	}},
	{name: "every handle has an incarnation of its own", kind: "lives", cases: "B67 I27", driver: func(d storage.Driver) storage.Driver {
		return &driver{d, func(s *store) {
			info := s.Store.Info()
			info.Incarnation += string(rune('a' + nextID.Add(1)%26))
			s.info = func() storage.StoreInfo { return info }
		}}
	}},
	{name: "a missing group of operations is declared", kind: "declaration", cases: "E01 E02 E19", target: func(t *conformance.Target) {
		of := t.New
		t.New = func(ctx context.Context, o conformance.Options) (conformance.Backend, error) {
			b, err := of(ctx, o)
			return connects(func() storage.Driver {
				d, _ := b.Connect(ctx)
				return &driver{d, func(s *store) {
					s.head = func(context.Context) (authz.Position, error) {
						return authz.Position{}, storage.Unsupported(storage.CapEvents)
					}
				}}
			}), err
		}
	}},
}

// undeclared is a store that has a capability and does not say so.
func undeclared(c storage.Capability) func(*store) {
	return func(s *store) {
		s.info = func() storage.StoreInfo {
			info := s.Store.Info()
			info.Capabilities = slices.DeleteFunc(info.Capabilities, func(have storage.Capability) bool { return have == c })
			return info
		}
	}
}
