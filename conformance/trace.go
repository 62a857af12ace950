package conformance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// tracedStore records what a case does to a store.
type tracedStore struct {
	storage.Store
	name   string
	record *runner.Record
}

func (s *tracedStore) did(err error, format string, args ...any) {
	end := ""
	if err != nil {
		end = " → " + shortError(err)
	}
	s.record.Step("%s: %s%s", s.name, fmt.Sprintf(format, args...), end)
}

func shortError(err error) string {
	var e *storage.Error
	if !errors.As(err, &e) {
		return runner.Clip(err.Error(), 200)
	}
	text := string(e.Code)
	if e.Outcome != "" {
		text += "/" + string(e.Outcome)
	}
	return runner.Clip(text+" ("+e.Message+")", 300)
}

func (s *tracedStore) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	result, err := s.Store.Commit(ctx, c)
	end := ""
	if err == nil && result.Replayed {
		end = " → replayed"
	}
	if err == nil && result.UpTo.Seq > 0 {
		end += fmt.Sprintf(" → up to %s", result.UpTo)
	}
	s.did(err, "commit %s%s", describeCommit(c), end)
	return result, err
}

func (s *tracedStore) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	result, found, err := s.Store.GetCommit(ctx, id)
	s.did(err, "get commit %s → %v", short(id), found)
	return result, found, err
}

func (s *tracedStore) Acquire(ctx context.Context, key string) (storage.Section, error) {
	section, err := s.Store.Acquire(ctx, key)
	if err != nil {
		s.did(err, "acquire %s", short(key))
		return nil, err
	}
	s.did(nil, "acquire %s → fence %d", short(key), section.Fence().Fence)
	return &tracedSection{section, s}, nil
}

func (s *tracedStore) Close() error {
	err := s.Store.Close()
	s.did(err, "close the store")
	return err
}

func (s *tracedStore) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	a, err := s.Store.ReadAccess(ctx, q)
	s.did(err, "read access %s → %d grants, %d revokes, head %s", short(fmt.Sprintf("%+v", firstSubjects(q))), len(a.Grants), len(a.Revokes), a.Head)
	return a, err
}

func firstSubjects(q storage.AccessQuery) storage.AccessQuery {
	q.Subjects = q.Subjects[:min(len(q.Subjects), 4)]
	return q
}

func (s *tracedStore) Head(ctx context.Context) (authz.Position, error) {
	head, err := s.Store.Head(ctx)
	s.did(err, "head → %s", head)
	return head, err
}

func (s *tracedStore) EventsSince(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
	page, err := s.Store.EventsSince(ctx, after, limit)
	s.did(err, "events since %s, limit %d → %d events, up to %s, gap %v, reset %v", after, limit, len(page.Events), page.UpTo, page.Gap, page.Reset)
	return page, err
}

func (s *tracedStore) PruneEvents(ctx context.Context, p storage.PruneEvents) (int64, error) {
	n, err := s.Store.PruneEvents(ctx, p)
	s.did(err, "prune events %s → %d", filter(p), n)
	return n, err
}

func (s *tracedStore) CountGrants(ctx context.Context, f storage.GrantFilter) (int64, error) {
	n, err := s.Store.CountGrants(ctx, f)
	s.did(err, "count grants %s → %d", filter(f), n)
	return n, err
}

func (s *tracedStore) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return listed(s, s.Store.ListGrants(ctx, f, p), "grants %s, after %s, limit %d", filter(f), short(p.After), p.Limit)
}

func (s *tracedStore) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	return listed(s, s.Store.ListRevokes(ctx, f, p), "revokes %s", filter(f))
}

func (s *tracedStore) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	return listed(s, s.Store.ListRequests(ctx, f, p), "requests %s", filter(f))
}

func (s *tracedStore) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return listed(s, s.Store.ListAudit(ctx, f), "audit %s", filter(f))
}

func (s *tracedStore) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return listed(s, s.Store.ListUsers(ctx, f, p), "users %s", filter(f))
}

func (s *tracedStore) ListUsersInGroup(ctx context.Context, group string, p storage.Page) iter.Seq2[string, error] {
	return listed(s, s.Store.ListUsersInGroup(ctx, group, p), "users in group %s", short(group))
}

func (s *tracedStore) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	return listed(s, s.Store.ListRecords(ctx, collection, f, p), "records of %s by %+v", short(collection), f)
}

func (s *tracedStore) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	return listed(s, s.Store.ReadMetrics(ctx, f), "metrics %s", filter(f))
}

func (s *tracedStore) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	err := s.Store.RecordMetrics(ctx, deltas)
	s.did(err, "record %d metrics, first %s", len(deltas), short(fmt.Sprintf("%+v", deltas[:min(1, len(deltas))])))
	return err
}

func (s *tracedStore) PruneMetrics(ctx context.Context, before int64) (int64, error) {
	n, err := s.Store.PruneMetrics(ctx, before)
	s.did(err, "prune metrics before %d → %d", before, n)
	return n, err
}

func listed[T any](s *tracedStore, list iter.Seq2[T, error], format string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		n := 0
		var failed error
		defer func() { s.did(failed, "list "+format+" → %d rows", append(args, n)...) }()
		for row, err := range list {
			if err != nil {
				failed = err
			} else {
				n++
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// tracedSection records what a case does to a section.
type tracedSection struct {
	storage.Section
	store *tracedStore
}

func (s *tracedSection) Renew(ctx context.Context) error {
	err := s.Section.Renew(ctx)
	s.store.did(err, "renew %s", short(s.Fence().Key))
	return err
}

func (s *tracedSection) Release(ctx context.Context) error {
	err := s.Section.Release(ctx)
	s.store.did(err, "release %s", short(s.Fence().Key))
	return err
}

func short(s string) string { return runner.Clip(fmt.Sprintf("%q", runner.Clip(s, 60)), 90) }

// filter renders the members of a filter that are present.
func filter(f any) string {
	v := reflect.ValueOf(f)
	var parts []string
	for i := range v.NumField() {
		m := v.Field(i)
		switch m.Kind() {
		case reflect.Pointer, reflect.Slice:
			if m.IsNil() {
				continue
			}
			if m.Kind() == reflect.Pointer {
				m = m.Elem()
			} else {
				m = m.Slice(0, min(m.Len(), 4))
			}
		default:
			if m.IsZero() {
				continue
			}
		}
		parts = append(parts, v.Type().Field(i).Name+"="+runner.Clip(fmt.Sprintf("%+v", m.Interface()), 80))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// describeCommit renders the first parts of a commit.
func describeCommit(c storage.Commit) string {
	var parts []string
	for _, f := range c.Fences {
		parts = append(parts, fmt.Sprintf("under %s@%d", short(f.Key), f.Fence))
	}
	for _, r := range c.Requires {
		parts = append(parts, runner.Clip(fmt.Sprintf("requires %T%+v", r, r), 120))
	}
	const most = 4
	for i, change := range c.Changes {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d changes more", len(c.Changes)-most))
			break
		}
		parts = append(parts, describeChange(change))
	}
	if n := len(c.Audit); n > 0 {
		parts = append(parts, fmt.Sprintf("%d audit entries", n))
	}
	if n := len(c.Events); n > 0 {
		parts = append(parts, fmt.Sprintf("%d events", n))
	}
	return short(c.ID) + " [" + strings.ReplaceAll(strings.Join(parts, "; "), "storage.", "") + "]"
}

func describeChange(change storage.Change) string {
	id := ""
	switch c := change.(type) {
	case storage.InsertGrant:
		id = c.Grant.ID
	case storage.InsertRevoke:
		id = c.Revoke.ID
	case storage.InsertRequest:
		id = c.Request.ID
	case storage.UpsertRole:
		id = c.Role.ID
	case storage.UpsertGroup:
		id = c.Group.ID
	case storage.UpsertUser:
		id = c.User.UserID
	case storage.UpdateRequest:
		id = c.Request.ID
	case storage.PutCatalog:
		id = fmt.Sprint("version ", c.Version)
	case storage.PutRecord:
		return fmt.Sprintf("PutRecord %s/%s expect %d", runner.Clip(c.Record.Collection, 40), runner.Clip(c.Record.ID, 40), c.Expect)
	default:
		return runner.Clip(fmt.Sprintf("%T%+v", change, change), 120)
	}
	return fmt.Sprintf("%T %s", change, short(id))
}
