package store

import (
	"context"
	"iter"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// walk is one run through a list. rows asks for what is left of it; passed notes
// a row that was received and says whether it was the last one wanted. A nil
// passed marks a list without an order: it starts anew or not at all.
type walk[T any] struct {
	rows   func(context.Context, storage.Store) iter.Seq2[T, error]
	passed func(T) (last bool)
}

// list runs through a list, and goes on after the last row received, once, when
// the handle died under it and came back with the same content. The deadline is
// that of a read, for each row anew: the consumer's own time does not count.
func list[T any](ctx context.Context, s *Store, name string, begin func() walk[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		w := begin()
		h, err := s.use(ctx, s.opts.ReopenWait)
		if err != nil {
			yield(none, typed(ctx, err, ""))
			return
		}
		received, err := stretch(ctx, s, h, name, w, yield)
		if err == nil {
			return
		}
		if received > 0 && w.passed == nil || !s.repeatable(ctx, h, err) {
			yield(none, err)
			return
		}
		next, ok := s.replaced(ctx, h, s.opts.ReopenWait)
		if !ok {
			yield(none, err)
			return
		}
		if received > 0 && next.info.Incarnation != h.info.Incarnation {
			s.done(next)
			yield(none, storage.Unavailable("", errRefused, "the content was replaced while it was listed"))
			return
		}
		if _, err := stretch(ctx, s, next, name, w, yield); err != nil {
			yield(none, err)
		}
	}
}

// stretch yields rows from one handle, which it gives back, until the list or
// the consumer ends, or the error that ended it.
func stretch[T any](ctx context.Context, s *Store, h *handle, name string, w walk[T], yield func(T, error) bool) (received int, err error) {
	defer s.done(h)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slow := time.AfterFunc(s.opts.ReadTimeout, func() { cancel(errNoAnswer) })
	defer slow.Stop()
	for row, err := range measureRows(ctx, s, name, func(ctx context.Context) iter.Seq2[T, error] { return w.rows(ctx, h.store) }) {
		slow.Stop()
		if err != nil {
			if ours(ctx) {
				s.suspect(h)
				return received, storage.Unavailable("", errNoAnswer, "the storage gave no answer in time")
			}
			return received, typed(ctx, err, "")
		}
		received++
		last := w.passed != nil && w.passed(row)
		if !yield(row, nil) || last {
			return received, nil
		}
		slow.Reset(s.opts.ReadTimeout)
	}
	return received, nil
}

// paged is a list that a Page resumes.
func paged[T any](ctx context.Context, s *Store, name string, p storage.Page, key func(T) string,
	rows func(context.Context, storage.Store, storage.Page) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return list(ctx, s, name, func() walk[T] {
		left := p
		return walk[T]{
			rows: func(ctx context.Context, st storage.Store) iter.Seq2[T, error] { return rows(ctx, st, left) },
			passed: func(row T) bool {
				left.After = key(row)
				return spend(&left.Limit)
			},
		}
	})
}

// spend counts a row against a limit, of which 0 is none, and says whether it
// was the last.
func spend(limit *int) bool {
	if *limit <= 0 {
		return false
	}
	*limit--
	return *limit == 0
}

func (s *Store) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return paged(ctx, s, "ListGrants", p, func(g authz.Grant) string { return g.ID },
		func(ctx context.Context, st storage.Store, p storage.Page) iter.Seq2[authz.Grant, error] {
			return st.ListGrants(ctx, f, p)
		})
}

func (s *Store) FindGrants(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
	return list(ctx, s, "FindGrants", func() walk[authz.Grant] {
		left := p
		return walk[authz.Grant]{
			rows: func(ctx context.Context, st storage.Store) iter.Seq2[authz.Grant, error] {
				return st.FindGrants(ctx, q, left)
			},
			passed: func(g authz.Grant) bool {
				left.After = q.Order.Place(&g)
				return spend(&left.Limit)
			},
		}
	})
}

func (s *Store) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	return paged(ctx, s, "ListRevokes", p, func(r authz.Revoke) string { return r.ID },
		func(ctx context.Context, st storage.Store, p storage.Page) iter.Seq2[authz.Revoke, error] {
			return st.ListRevokes(ctx, f, p)
		})
}

func (s *Store) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return paged(ctx, s, "ListRoles", p, func(r authz.Role) string { return r.ID },
		func(ctx context.Context, st storage.Store, p storage.Page) iter.Seq2[authz.Role, error] {
			return st.ListRoles(ctx, p)
		})
}

func (s *Store) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return paged(ctx, s, "ListGroups", p, func(g authz.Group) string { return g.ID },
		func(ctx context.Context, st storage.Store, p storage.Page) iter.Seq2[authz.Group, error] {
			return st.ListGroups(ctx, p)
		})
}

func (s *Store) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return paged(ctx, s, "ListUsers", p, func(u authz.User) string { return u.UserID },
		func(ctx context.Context, st storage.Store, p storage.Page) iter.Seq2[authz.User, error] {
			return st.ListUsers(ctx, f, p)
		})
}

func (s *Store) ListUsersInGroup(ctx context.Context, groupID string, p storage.Page) iter.Seq2[string, error] {
	return paged(ctx, s, "ListUsersInGroup", p, func(id string) string { return id },
		func(ctx context.Context, st storage.Store, p storage.Page) iter.Seq2[string, error] {
			return st.ListUsersInGroup(ctx, groupID, p)
		})
}

func (s *Store) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	return paged(ctx, s, "ListRecords", p, func(r storage.Record) string { return r.ID },
		func(ctx context.Context, st storage.Store, p storage.Page) iter.Seq2[storage.Record, error] {
			return st.ListRecords(ctx, collection, f, p)
		})
}

func (s *Store) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	return list(ctx, s, "ListRequests", func() walk[authz.Request] {
		left := p
		return walk[authz.Request]{
			rows: func(ctx context.Context, st storage.Store) iter.Seq2[authz.Request, error] {
				return st.ListRequests(ctx, f, left)
			},
			passed: func(r authz.Request) bool {
				left.AfterCreatedAt, left.AfterID = r.CreatedAt, r.ID
				return spend(&left.Limit)
			},
		}
	})
}

// ListAudit goes on by cursor. What is left of the last n entries is the first
// of those after the last one received.
func (s *Store) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return list(ctx, s, "ListAudit", func() walk[authz.AuditEntry] {
		left := f
		return walk[authz.AuditEntry]{
			rows: func(ctx context.Context, st storage.Store) iter.Seq2[authz.AuditEntry, error] {
				return st.ListAudit(ctx, left)
			},
			passed: func(e authz.AuditEntry) bool {
				after := e.Cursor()
				left.Cursor = &after
				if left.Limit == nil {
					return false
				}
				n := *left.Limit - 1
				left.Limit = &n
				return n <= 0
			},
		}
	})
}

// ListCatalogVersions has no page: begun again, it leaves out what was received.
func (s *Store) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return list(ctx, s, "ListCatalogVersions", func() walk[storage.CatalogVersion] {
		var after *int64
		return walk[storage.CatalogVersion]{
			rows: func(ctx context.Context, st storage.Store) iter.Seq2[storage.CatalogVersion, error] {
				return func(yield func(storage.CatalogVersion, error) bool) {
					for v, err := range st.ListCatalogVersions(ctx) {
						if err == nil && after != nil && v.Version <= *after {
							continue
						}
						if !yield(v, err) {
							return
						}
					}
				}
			},
			passed: func(v storage.CatalogVersion) bool {
				after = &v.Version
				return false
			},
		}
	})
}

// ReadMetrics has no order: it is repeated only before its first row.
func (s *Store) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	return list(ctx, s, "ReadMetrics", func() walk[storage.MetricBucket] {
		return walk[storage.MetricBucket]{
			rows: func(ctx context.Context, st storage.Store) iter.Seq2[storage.MetricBucket, error] {
				return st.ReadMetrics(ctx, f)
			},
		}
	})
}

// Watch yields heads until ctx ends. A broken stream is opened anew: it is a hint
// that may be late, never an answer that may be missing.
func (s *Store) Watch(ctx context.Context) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for failures := 0; ; failures++ {
			h, err := s.use(ctx, 0)
			if ctx.Err() != nil {
				if err == nil {
					s.done(h)
				}
				return
			}
			if err != nil {
				yield(0, typed(ctx, err, ""))
				return
			}
			for head, broken := range h.store.Watch(ctx) {
				if err = broken; err != nil {
					break
				}
				failures = 0
				if !yield(head, nil) {
					s.done(h)
					return
				}
			}
			s.done(h)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil && storage.CodeOf(err) != storage.CodeUnavailable && storage.CodeOf(err) != "":
				yield(0, typed(ctx, err, ""))
				return
			}
			s.alive(ctx, h)
			pause := time.NewTimer(backoff(failures, s.opts.ReopenMin, s.opts.ReopenMax))
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
			}
		}
	}
}

func (s *Store) ListScopes(ctx context.Context, p storage.Page) iter.Seq2[string, error] {
	return paged(ctx, s, "ListScopes", p, func(scope string) string { return scope },
		func(ctx context.Context, st storage.Store, p storage.Page) iter.Seq2[string, error] {
			return st.ListScopes(ctx, p)
		})
}

func (s *Store) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	return paged(ctx, s, "ListUserIDs", p, func(id string) string { return id },
		func(ctx context.Context, st storage.Store, p storage.Page) iter.Seq2[string, error] {
			return st.ListUserIDs(ctx, prefix, p)
		})
}

func (s *Store) ListEdges(ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
	return list(ctx, s, "ListEdges", func() walk[storage.Edge] {
		left := p
		return walk[storage.Edge]{
			rows: func(ctx context.Context, st storage.Store) iter.Seq2[storage.Edge, error] {
				return st.ListEdges(ctx, kind, of, left)
			},
			passed: func(e storage.Edge) bool {
				left.AfterOf, left.AfterFrom = e.Of, e.From
				return spend(&left.Limit)
			},
		}
	})
}

func (s *Store) ListGrantsAt(ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
	return list(ctx, s, "ListGrantsAt", func() walk[authz.Grant] {
		left := p
		return walk[authz.Grant]{
			rows: func(ctx context.Context, st storage.Store) iter.Seq2[authz.Grant, error] {
				return st.ListGrantsAt(ctx, scopes, left)
			},
			passed: func(g authz.Grant) bool {
				left.AfterScope, left.AfterSubject, left.AfterID = g.Scope, g.Subject, g.ID
				return spend(&left.Limit)
			},
		}
	})
}
