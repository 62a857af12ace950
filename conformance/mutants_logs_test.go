package conformance_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var logMutants = []mutant{
	{name: "the last event of a commit is lost", kind: "lost event", cases: "E02 E05 E10", store: committing(func(c *storage.Commit) {
		if n := len(c.Events); n > 0 {
			c.Events = c.Events[:n-1]
		}
	})},
	{name: "a commit does not say its last number", kind: "result", cases: "E02", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			r, err := s.Store.Commit(ctx, c)
			if r.UpTo.Seq > 0 {
				r.UpTo.Seq -= int64(len(c.Events)) - 1
			}
			return r, err
		}
	}},
	{name: "events of a commit are written backwards", kind: "wrong order", cases: "E03 E05", store: committing(func(c *storage.Commit) {
		c.Events = slices.Clone(c.Events)
		slices.Reverse(c.Events)
	})},
	{name: "a page holds the newest events", kind: "wrong order", cases: "E04 E20", store: pages(func(s *store, p storage.EventPage, after authz.Position, limit int) storage.EventPage {
		if all, err := s.Store.EventsSince(context.Background(), after, 1000); err == nil && len(all.Events) > limit && limit > 0 {
			all.Events = all.Events[len(all.Events)-limit:]
			return all
		}
		return p
	})},
	{name: "a cursor passes an event that it was not given", kind: "lost event", cases: "E03 E09", store: pages(func(_ *store, p storage.EventPage, _ authz.Position, _ int) storage.EventPage {
		if len(p.Events) > 1 {
			p.Events = p.Events[1:]
		}
		return p
	})},
	{name: "a limit of 0 means all events", kind: "filter", cases: "E06", store: func(s *store) {
		s.eventsSince = func(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
			if limit <= 0 {
				limit = 1000
			}
			return s.Store.EventsSince(ctx, after, limit)
		}
	}},
	{name: "a cursor before the mark is no gap", kind: "lost event", cases: "E11 E12 I14", store: pages(func(_ *store, p storage.EventPage, after authz.Position, _ int) storage.EventPage {
		if p.Gap {
			return storage.EventPage{UpTo: after}
		}
		return p
	})},
	{name: "a cursor ahead of the head goes back to it", kind: "cursor", cases: "E08", store: pages(func(s *store, p storage.EventPage, after authz.Position, _ int) storage.EventPage {
		if head, err := s.Store.Head(context.Background()); err == nil && head.Seq < after.Seq {
			p.UpTo = head
		}
		return p
	})},
	{name: "a position is its number", kind: "identity", cases: "E23", store: func(s *store) {
		s.eventsSince = func(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
			return s.Store.EventsSince(ctx, authz.Position{Seq: after.Seq}, limit)
		}
	}},
	{name: "a position above the head has no events yet", kind: "identity", cases: "E23", store: pages(func(s *store, p storage.EventPage, after authz.Position, _ int) storage.EventPage {
		if head, err := s.Store.Head(context.Background()); err == nil && head.Seq < after.Seq {
			return storage.EventPage{UpTo: after}
		}
		return p
	})},
	{name: "an identity does not depend on the one before", kind: "identity", cases: "E22", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			r, err := s.Store.Commit(ctx, c)
			if r.UpTo.Seq > 0 {
				r.UpTo.Identity = storage.Follow("", c.ID, r.UpTo.Seq)
			}
			return r, err
		}
	}},
	{name: "a page does not say its identity", kind: "identity", cases: "E22 E23", store: pages(func(_ *store, p storage.EventPage, _ authz.Position, _ int) storage.EventPage {
		p.UpTo.Identity = ""
		return p
	})},
	{name: "the head does not say its identity", kind: "identity", cases: "E22", store: func(s *store) {
		s.head = func(ctx context.Context) (authz.Position, error) {
			head, err := s.Store.Head(ctx)
			return authz.Position{Seq: head.Seq}, err
		}
	}},
	{name: "readAccess does not say the identity of the head", kind: "identity", cases: "B17 E22", store: func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
			a, err := s.Store.ReadAccess(ctx, q)
			a.Head.Identity = ""
			return a, err
		}
	}},
	{name: "the mark loses its identity", kind: "identity", cases: "E23", store: func(s *store) {
		gap := func(ctx context.Context, seq int64) bool {
			p, _ := s.Store.EventsSince(ctx, authz.Position{Seq: seq}, 0)
			return p.Gap
		}
		s.eventsSince = func(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
			if gap(ctx, after.Seq-1) && !gap(ctx, after.Seq) {
				after.Identity = ""
			}
			return s.Store.EventsSince(ctx, after, limit)
		}
	}},
	{name: "the head falls with the rows", kind: "numbering", cases: "E14", store: func(s *store) {
		var pruned atomic.Bool
		s.pruneEvents = func(ctx context.Context, p storage.PruneEvents) (int64, error) {
			pruned.Store(p.KeepRows != nil && *p.KeepRows == 0)
			return s.Store.PruneEvents(ctx, p)
		}
		s.head = func(ctx context.Context) (authz.Position, error) {
			if pruned.Load() {
				return authz.Position{}, nil
			}
			return s.Store.Head(ctx)
		}
	}},
	{name: "pruning by age includes the instant", kind: "prune", cases: "E11 E13", store: func(s *store) {
		s.pruneEvents = func(ctx context.Context, p storage.PruneEvents) (int64, error) {
			if p.Before != nil {
				before := *p.Before + 1
				p.Before = &before
			}
			return s.Store.PruneEvents(ctx, p)
		}
	}},
	{name: "a negative keepRows passes", kind: "prune", cases: "E13", store: func(s *store) {
		s.pruneEvents = func(ctx context.Context, p storage.PruneEvents) (int64, error) {
			if p.KeepRows != nil && *p.KeepRows < 0 {
				return 0, nil
			}
			return s.Store.PruneEvents(ctx, p)
		}
	}},
	{name: "watch never tells of a movement", kind: "lost event", cases: "E19 E19b", store: func(s *store) {
		s.watch = func(ctx context.Context) iter.Seq2[int64, error] {
			return func(yield func(int64, error) bool) {
				if head, err := s.Store.Head(ctx); !yield(head.Seq, err) {
					return
				}
				<-ctx.Done()
			}
		}
	}},
	{name: "metrics replace", kind: "applied twice", cases: "M01", store: func(s *store) {
		s.record = func(ctx context.Context, deltas []storage.MetricBucket) error {
			if n, err := s.Store.PruneMetrics(ctx, 1); err != nil || n < 0 {
				return err
			}
			return s.Store.RecordMetrics(ctx, deltas)
		}
	}},
	{name: "metric keys are joined by a colon", kind: "key", cases: "M07", store: func(s *store) {
		s.record = func(ctx context.Context, deltas []storage.MetricBucket) error {
			deltas = slices.Clone(deltas)
			for i, d := range deltas {
				joined := d.Subject + ":" + d.Metric
				deltas[i].Subject, deltas[i].Metric, _ = strings.Cut(joined, ":")
			}
			return s.Store.RecordMetrics(ctx, deltas)
		}
	}},
	{name: "a metrics batch is recorded up to its first fault", kind: "torn commit", cases: "M08", store: func(s *store) {
		s.record = func(ctx context.Context, deltas []storage.MetricBucket) error {
			for i := range deltas {
				if err := s.Store.RecordMetrics(ctx, deltas[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}
	}},
	{name: "metrics are pruned through the instant", kind: "prune", cases: "M05", store: func(s *store) {
		s.pruneMetrics = func(ctx context.Context, before int64) (int64, error) { return s.Store.PruneMetrics(ctx, before+1) }
	}},
	{name: "short details are left out with the long ones", kind: "audit", cases: "B56b", store: func(s *store) {
		s.listAudit = func(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
			return only(s.Store.ListAudit(ctx, f), func(_ int, e *authz.AuditEntry) bool {
				if f.DetailLimit != nil {
					limit := *f.DetailLimit - 1
					e.Shorten(&limit)
				}
				return true
			})
		}
	}},
	{name: "a subject selects who acted alone", kind: "audit", cases: "B56c B56d", store: func(s *store) {
		s.listAudit = func(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
			if f.Subject == nil {
				return s.Store.ListAudit(ctx, f)
			}
			actor := strings.TrimPrefix(*f.Subject, "user:")
			f.Subject, f.Actor = nil, &actor
			return s.Store.ListAudit(ctx, f)
		}
	}},
	{name: "a limit counts entries about others", kind: "audit", cases: "B56c", store: func(s *store) {
		s.listAudit = func(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
			subject := f.Subject
			f.Subject = nil
			return only(s.Store.ListAudit(ctx, f), func(_ int, e *authz.AuditEntry) bool { return subject == nil || e.IsAbout(*subject) })
		}
	}},
	{name: "audit entries lose their hash", kind: "audit", cases: "B56", store: committing(func(c *storage.Commit) {
		c.Audit = slices.Clone(c.Audit)
		for i := range c.Audit {
			c.Audit[i].Hash = ""
		}
	})},
	{name: "audit details come back as null", kind: "absence", cases: "B02 B56", store: func(s *store) {
		s.listAudit = func(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
			return only(s.Store.ListAudit(ctx, f), func(_ int, e *authz.AuditEntry) bool {
				if e.Detail == nil {
					e.Detail = []byte("null")
				}
				return true
			})
		}
	}},
}

func pages(alter func(s *store, p storage.EventPage, after authz.Position, limit int) storage.EventPage) func(*store) {
	return func(s *store) {
		s.eventsSince = func(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
			p, err := s.Store.EventsSince(ctx, after, limit)
			if err != nil {
				return p, err
			}
			return alter(s, p, after, limit), nil
		}
	}
}
