package conformance_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var nextID atomic.Int64

// piecemeal commits the changes of a commit one by one.
func piecemeal(s *store) {
	s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		if len(c.Changes) < 2 || len(c.Changes) > 1000 {
			return s.Store.Commit(ctx, c)
		}
		if r, found, err := s.Store.GetCommit(ctx, c.ID); err != nil || found {
			r.Replayed = true
			return r, err
		}
		var all storage.CommitResult
		for i := range c.Changes {
			r, err := s.Store.Commit(ctx, storage.Commit{ID: fmt.Sprintf("piece-%d", nextID.Add(1)), At: c.At, Fences: c.Fences, Changes: c.Changes[i : i+1]})
			if err != nil {
				return r, err
			}
			if i%40 == 0 {
				time.Sleep(moment)
			}
			all.Results = append(all.Results, r.Results...)
		}
		c.Changes = nil
		r, err := s.Store.Commit(ctx, c)
		r.Results = all.Results
		return r, err
	}
}

// forgetful gives every commit an id of its own.
func forgetful(s *store) {
	s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		c.ID = fmt.Sprintf("%s-%d", c.ID, nextID.Add(1))
		return s.Store.Commit(ctx, c)
	}
}

// beforehand judges a commit by a look, for whose truth it takes care within its own
// process only, and writes it later without the condition.
func beforehand(look func(ctx context.Context, s *store, c *storage.Commit) error) func(*store) {
	return func(s *store) {
		var process sync.Mutex
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			process.Lock()
			defer process.Unlock()
			c.Changes = slices.Clone(c.Changes)
			if err := look(ctx, s, &c); err != nil {
				return storage.CommitResult{}, err
			}
			time.Sleep(moment)
			return s.Store.Commit(ctx, c)
		}
	}
}

func moved(want, current int64) error {
	if want == current {
		return nil
	}
	conflict := storage.Errorf(storage.CodeConflict, "it has moved")
	conflict.Version = current
	return conflict
}

var writeMutants = []mutant{
	{name: "changes are applied one by one", kind: "torn commit", cases: "B19 B42 B58 B62", store: piecemeal},
	{name: "events follow in a commit of their own", kind: "torn commit", cases: "B85 E17", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Events) == 0 {
				return s.Store.Commit(ctx, c)
			}
			events := storage.Commit{ID: c.ID + " events", At: c.At, Events: c.Events}
			c.Events = nil
			if r, err := s.Store.Commit(ctx, c); err != nil || r.Replayed {
				return r, err
			}
			time.Sleep(moment)
			return s.Store.Commit(ctx, events)
		}
	}},
	{name: "audit is written before the commit is judged", kind: "torn commit", cases: "B58", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Audit) == 1 && len(c.Changes) > 0 {
				_, _ = s.Store.Commit(ctx, storage.Commit{ID: c.ID + " audit", Audit: c.Audit})
				c.Audit = nil
			}
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "ids of commits are not recognised", kind: "applied twice", cases: "B59 B60", store: forgetful},
	{name: "a commit that changes nothing is not kept", kind: "recognition", cases: "B60c", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Changes)+len(c.Audit)+len(c.Events)+len(c.Requires)+len(c.Fences) == 0 {
				return storage.CommitResult{}, nil
			}
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "a commit sent twice at once is applied twice", kind: "applied twice", cases: "B80", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if r, found, err := s.Store.GetCommit(ctx, c.ID); err != nil || found {
				r.Replayed = true
				return r, err
			}
			c.ID = fmt.Sprintf("%s-%d", c.ID, nextID.Add(1))
			for i, change := range c.Changes {
				if put, ok := change.(storage.PutRecord); ok {
					put.Record.ID = fmt.Sprintf("%s-%d", put.Record.ID, nextID.Add(1))
					c.Changes = slices.Clone(c.Changes)
					c.Changes[i] = put
				}
			}
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "another content under a known id passes for a replay", kind: "recognition", cases: "B60", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if r, found, _ := s.Store.GetCommit(ctx, c.ID); found {
				r.Replayed = true
				return r, nil
			}
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "a refused commit keeps its id", kind: "recognition", cases: "B58", store: func(s *store) {
		var mu sync.Mutex
		refused := map[string]error{}
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			if err := refused[c.ID]; err != nil {
				return storage.CommitResult{}, err
			}
			r, err := s.Store.Commit(ctx, c)
			refused[c.ID] = err
			return r, err
		}
	}},
	{name: "a replay answers without its results", kind: "recognition", cases: "B59 B78", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			r, err := s.Store.Commit(ctx, c)
			if r.Replayed {
				r.Results = nil
			}
			return r, err
		}
	}},
	{name: "an insert overwrites", kind: "precondition", cases: "B09 I06", store: committing(func(c *storage.Commit) {
		var changes []storage.Change
		for _, change := range c.Changes {
			if insert, ok := change.(storage.InsertGrant); ok {
				changes = append(changes, storage.DeleteGrant{ID: insert.Grant.ID})
			}
			changes = append(changes, change)
		}
		c.Changes = changes
	})},
	{name: "mustExist is ignored", kind: "precondition", cases: "B10 B58", store: altering(func(_ *store, c storage.Change) storage.Change {
		if d, ok := c.(storage.DeleteGrant); ok {
			d.MustExist = false
			return d
		}
		return c
	})},
	{name: "a deletion answers no row", kind: "result", cases: "B10 B11", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			r, err := s.Store.Commit(ctx, c)
			for i := range r.Results {
				r.Results[i].Grant = nil
			}
			return r, err
		}
	}},
	{name: "an upsert keeps what was left out", kind: "replacement", cases: "B24", store: altering(func(s *store, c storage.Change) storage.Change {
		if u, ok := c.(storage.UpsertRole); ok && u.Role.Requestable == nil {
			if old, found, _ := s.Store.GetRole(context.Background(), u.Role.ID); found {
				u.Role.Requestable = old.Requestable
			}
			return u
		}
		return c
	})},
	{name: "memberships are only added", kind: "replacement", cases: "B34", store: altering(func(s *store, c storage.Change) storage.Change {
		if u, ok := c.(storage.UpsertUser); ok {
			old, _, _ := s.Store.GetUser(context.Background(), u.User.UserID)
			for _, g := range old.GroupIDs {
				if !slices.Contains(u.User.GroupIDs, g) {
					u.User.GroupIDs = append(slices.Clone(u.User.GroupIDs), g)
				}
			}
			return u
		}
		return c
	})},
	{name: "a dropped parent edge stays", kind: "replacement", cases: "B31", store: altering(func(s *store, c storage.Change) storage.Change {
		if u, ok := c.(storage.UpsertGroup); ok {
			old, _, _ := s.Store.GetGroup(context.Background(), u.Group.ID)
			for _, p := range old.Parents {
				if !slices.Contains(u.Group.Parents, p) {
					u.Group.Parents = append([]string{p}, u.Group.Parents...)
				}
			}
			return u
		}
		return c
	})},
	{name: "an update deletes first and inserts later", kind: "replacement", cases: "B25", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Changes) == 1 {
				if u, ok := c.Changes[0].(storage.UpsertRole); ok {
					_, _ = s.Store.Commit(ctx, storage.Commit{ID: "delete for " + c.ID, Changes: []storage.Change{storage.DeleteRole{ID: u.Role.ID}}})
					time.Sleep(moment)
				}
			}
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "patchUser writes the whole row", kind: "replacement", cases: "B81", store: altering(func(_ *store, c storage.Change) storage.Change {
		if p, ok := c.(storage.PatchUser); ok {
			u := authz.User{UserID: p.UserID, Active: true}
			if p.Active != nil {
				u.Active = *p.Active
			}
			if p.GroupIDs != nil {
				u.GroupIDs = *p.GroupIDs
			}
			if p.OrgIDs != nil {
				u.OrgIDs = *p.OrgIDs
			}
			if p.ManagerUserID != nil {
				u.ManagerUserID = *p.ManagerUserID
			}
			return storage.UpsertUser{User: u}
		}
		return c
	})},
	{name: "deleting a group removes edges of others", kind: "cascade", cases: "B32", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			changes := slices.Clone(c.Changes)
			for _, change := range c.Changes {
				if d, ok := change.(storage.DeleteGroup); ok {
					groups, _ := collected(s.Store.ListGroups(ctx, storage.Page{}))
					for _, g := range groups {
						if slices.Contains(g.Parents, d.ID) {
							g.Parents = slices.DeleteFunc(g.Parents, func(p string) bool { return p == d.ID })
							changes = append(changes, storage.UpsertGroup{Group: g})
						}
					}
				}
			}
			n := len(c.Changes)
			c.Changes = changes
			r, err := s.Store.Commit(ctx, c)
			if err == nil {
				r.Results = r.Results[:n]
			}
			return r, err
		}
	}},
	{name: "a named role is deleted all the same", kind: "precondition", cases: "B83 B83b", store: altering(func(_ *store, c storage.Change) storage.Change {
		if d, ok := c.(storage.DeleteRole); ok {
			d.Unnamed = false
			return d
		}
		return c
	})},
	{name: "a required role is not required", kind: "requirement", cases: "B83 B84", store: committing(func(c *storage.Commit) {
		c.Requires = slices.DeleteFunc(slices.Clone(c.Requires), func(r storage.Requirement) bool { _, ok := r.(storage.RequireRole); return ok })
	})},
	{name: "a required head is not required", kind: "requirement", cases: "B58 B84", store: committing(func(c *storage.Commit) {
		c.Requires = slices.DeleteFunc(slices.Clone(c.Requires), func(r storage.Requirement) bool { _, ok := r.(storage.RequireHead); return ok })
	})},
	{name: "a required head is its number", kind: "requirement", cases: "E24", store: committing(func(c *storage.Commit) {
		c.Requires = slices.Clone(c.Requires)
		for i, r := range c.Requires {
			if head, ok := r.(storage.RequireHead); ok {
				c.Requires[i] = storage.RequireHead{Seq: head.Seq}
			}
		}
	})},
	{name: "a required record is not required", kind: "requirement", cases: "B84", store: committing(func(c *storage.Commit) {
		c.Requires = slices.DeleteFunc(slices.Clone(c.Requires), func(r storage.Requirement) bool { _, ok := r.(storage.RequireRecord); return ok })
	})},
	{name: "a required record is looked at beforehand", kind: "requirement", cases: "B84", store: beforehand(func(ctx context.Context, s *store, c *storage.Commit) error {
		for i, r := range c.Requires {
			if want, ok := r.(storage.RequireRecord); ok {
				row, found, err := s.Store.GetRecord(ctx, want.Collection, want.ID)
				if !found {
					row.Version = -1
				}
				c.Requires = slices.Delete(slices.Clone(c.Requires), i, i+1)
				return cmp.Or(err, moved(want.Version, row.Version))
			}
		}
		return nil
	})},
	{name: "a catalog is put whatever its head", kind: "precondition", cases: "B44", store: altering(func(_ *store, c storage.Change) storage.Change {
		if p, ok := c.(storage.PutCatalog); ok {
			p.Expect = nil
			return p
		}
		return c
	})},
	{name: "a request is updated whatever its state", kind: "precondition", cases: "B82", store: altering(func(_ *store, c storage.Change) storage.Change {
		if u, ok := c.(storage.UpdateRequest); ok {
			u.Expect = nil
			return u
		}
		return c
	})},
	{name: "two processes put one catalog", kind: "precondition", cases: "B44", store: beforehand(func(ctx context.Context, s *store, c *storage.Commit) error {
		p, ok := c.Changes[0].(storage.PutCatalog)
		if !ok || p.Expect == nil {
			return nil
		}
		head, _, err := s.Store.GetCatalog(ctx)
		want := *p.Expect
		p.Expect = nil
		c.Changes[0] = p
		return cmp.Or(err, moved(want, head.Version))
	})},
	{name: "two processes put one manifest", kind: "precondition", cases: "B48", store: beforehand(func(ctx context.Context, s *store, c *storage.Commit) error {
		p, ok := c.Changes[0].(storage.PutImports)
		if !ok || p.Expect == nil {
			return nil
		}
		head, _, err := s.Store.GetImports(ctx)
		want := *p.Expect
		p.Expect = nil
		c.Changes[0] = p
		return cmp.Or(err, moved(want, head.Version))
	})},
	{name: "two processes put one record", kind: "precondition", cases: "B64", store: func(s *store) {
		beforehand(func(ctx context.Context, s *store, c *storage.Commit) error {
			p, ok := c.Changes[0].(storage.PutRecord)
			if !ok {
				return nil
			}
			row, _, err := s.Store.GetRecord(ctx, p.Record.Collection, p.Record.ID)
			return cmp.Or(err, moved(p.Expect, row.Version))
		})(s)
		// A version is always expected: the one that is there when it is put.
		sound := s.Store
		expecting := wrapped(sound)
		expecting.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			for {
				if p, ok := c.Changes[0].(storage.PutRecord); ok {
					row, _, err := sound.GetRecord(ctx, p.Record.Collection, p.Record.ID)
					if err != nil {
						return storage.CommitResult{}, err
					}
					p.Expect = row.Version
					c.Changes[0] = p
				}
				r, err := sound.Commit(ctx, c)
				if _, put := c.Changes[0].(storage.PutRecord); !put || storage.CodeOf(err) != storage.CodeConflict {
					return r, err
				}
			}
		}
		s.Store = expecting
	}},
	{name: "a request is deleted by one process while another decides it", kind: "precondition", cases: "B82", store: beforehand(func(ctx context.Context, s *store, c *storage.Commit) error {
		d, ok := c.Changes[0].(storage.DeleteRequest)
		if !ok || d.Expect == nil {
			return nil
		}
		row, found, err := s.Store.GetRequest(ctx, d.ID)
		if found && (storage.RequestExpect{State: row.State, StageIndex: row.StageIndex}) != *d.Expect {
			err = cmp.Or(err, moved(0, 1))
		}
		d.Expect = nil
		c.Changes[0] = d
		return err
	})},
	{name: "an absent request is inserted by its update", kind: "precondition", cases: "B42", store: altering(func(s *store, c storage.Change) storage.Change {
		if u, ok := c.(storage.UpdateRequest); ok {
			if _, found, _ := s.Store.GetRequest(context.Background(), u.Request.ID); !found {
				return storage.InsertRequest{Request: u.Request}
			}
		}
		return c
	})},
	{name: "a record conflict does not say the version", kind: "error", cases: "B64", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			r, err := s.Store.Commit(ctx, c)
			if storage.CodeOf(err) == storage.CodeConflict {
				err = storage.Errorf(storage.CodeConflict, "%s", err.Error())
			}
			return r, err
		}
	}},
	{name: "text is trimmed", kind: "text", cases: "B12", store: altering(func(_ *store, c storage.Change) storage.Change {
		if i, ok := c.(storage.InsertGrant); ok {
			i.Grant.Subject = strings.TrimSpace(i.Grant.Subject)
			return i
		}
		return c
	})},
	{name: "U+0000 is dropped", kind: "text", cases: "S05", store: altering(func(_ *store, c storage.Change) storage.Change {
		if i, ok := c.(storage.InsertGrant); ok {
			i.Grant.Subject = strings.ReplaceAll(i.Grant.Subject, "\x00", "")
			return i
		}
		return c
	})},
	{name: "a repeated group is dropped", kind: "text", cases: "S22", store: altering(func(_ *store, c storage.Change) storage.Change {
		if u, ok := c.(storage.UpsertUser); ok {
			slices.Sort(u.User.GroupIDs)
			u.User.GroupIDs = slices.Compact(u.User.GroupIDs)
			return u
		}
		return c
	})},
	{name: "instants pass through a float", kind: "text", cases: "B66", store: altering(func(_ *store, c storage.Change) storage.Change {
		if i, ok := c.(storage.InsertGrant); ok {
			i.Grant.CreatedAt = int64(float32(i.Grant.CreatedAt))
			return i
		}
		return c
	})},
	{name: "a commit over the limit is applied in part", kind: "torn commit", cases: "B63", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Changes) > storage.MaxCommitChanges {
				c.Changes = c.Changes[:storage.MaxCommitChanges]
			}
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "of two deletes both get the row", kind: "applied twice", cases: "B11", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Changes) == 1 {
				if d, ok := c.Changes[0].(storage.DeleteGrant); ok {
					row, found, _ := s.Store.GetGrant(ctx, d.ID)
					time.Sleep(moment)
					r, err := s.Store.Commit(ctx, c)
					if err == nil && found {
						r.Results[0].Grant = &row
					}
					return r, err
				}
			}
			return s.Store.Commit(ctx, c)
		}
	}},
}
