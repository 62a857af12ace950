package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// victim opens a partition over a process of its own, which the case will kill
// or stop.
func (w *world) victim(logical string) *named { return w.openOver(w.connect(), logical) }

// crashRows is the size of the commits that are interrupted.
const crashRows = 400

// crashCommit writes rows of several kinds that one instant must show together:
// the record, grants and revoke of a user of its own, a role, an audit entry and
// two events.
func (w *world) crashCommit(name string) storage.Commit {
	c := storage.Commit{ID: "crash-" + name, At: 1, Audit: []authz.AuditEntry{{ID: "crash-" + name, At: 1, Target: name, Detail: json.RawMessage(`{"userId":"` + name + `"}`)}},
		Events: w.events(authz.UserEvent(name), authz.RoleEvent(name))}
	c.Changes = append(c.Changes, storage.UpsertUser{User: user(name, in("g", name))}, storage.UpsertRole{Role: authz.Role{ID: name, Name: name}})
	for i := range crashRows {
		c.Changes = append(c.Changes, storage.InsertGrant{Grant: grant(fmt.Sprintf("%s-%d", name, i), "user:"+name, ofRole(name))})
	}
	c.Changes = append(c.Changes, storage.InsertRevoke{Revoke: revoke(name, name, "*")})
	return c
}

// wholeOrAbsent reads a crash commit's rows at one instant and says which it is.
func (s *named) wholeOrAbsent(name string, headBefore int64) (whole bool) {
	w := s.w
	a := s.access(storage.AccessQuery{UserID: name, Subjects: []string{"user:" + name}})
	events := int64(len(w.events(authz.Event{}, authz.Event{})))
	switch {
	case a.User != nil && len(a.User.GroupIDs) == 2 && len(a.Grants) == crashRows && len(a.Revokes) == 1 && len(a.Roles) == 1 && a.Head.Seq == headBefore+events:
		return true
	case a.User == nil && len(a.Grants) == 0 && len(a.Revokes) == 0 && len(a.Roles) == 0 && a.Head.Seq == headBefore:
		return false
	}
	w.Want("the commit whole or absent", "record %v, %d of %d grants, %d revokes, %d roles, head %d from %d",
		a.User != nil, len(a.Grants), crashRows, len(a.Revokes), len(a.Roles), a.Head.Seq, headBefore)
	return false
}

// headNow is the log head, 0 without events.
func (s *named) headNow() int64 {
	if s.w.has(storage.CapEvents) {
		return s.head()
	}
	return 0
}

// crashLength measures a commit like those that are interrupted.
func (s *named) crashLength(name string) time.Duration {
	start := time.Now()
	s.do(s.w.crashCommit(name))
	return time.Since(start)
}

var crashCases = []storageCase{
	{ID: "B61", Rule: "a commit whose process is killed at any moment is whole or absent, an acknowledged one is there, and sending it again settles it", Abilities: []Ability{Kill}, run: func(w *world) {
		length := w.crashLength("first")
		w.Rounds(w.ctx, 20, func(round int) {
			name := fmt.Sprint("u", round)
			c := w.crashCommit(name)
			s := w.victim("")
			head := s.headNow()
			var answer error
			w.Interrupt(&length, func() { _, answer = s.Commit(w.ctx, c) }, func() { w.kill(s) })()
			if answer != nil {
				w.code(storage.CodeUnavailable, answer)
			}
			next := w.victim("")
			survived := declares(next.driver, true)
			if !survived {
				head = 0
			}
			whole := next.wholeOrAbsent(name, head)
			_, found, err := next.GetCommit(w.ctx, c.ID)
			w.code("", err)
			again := next.do(c)
			if whole && !again.Replayed || found && !again.Replayed {
				w.Want("replayed", "applied a second time")
			}
			if survived && answer == nil && !again.Replayed {
				w.Want("an acknowledged commit survives", "it was gone")
			}
			if !next.wholeOrAbsent(name, head) {
				w.Want("the commit whole after it was sent again", "absent")
			}
			w.same(1, len(rows(w, next.ListAudit(w.ctx, storage.AuditFilter{Target: &name}))))
			if next.Info().Capabilities.Has(storage.CapAuditSubjects) {
				w.same(1, len(rows(w, next.ListAudit(w.ctx, storage.AuditFilter{Subject: ptr("user:" + name)}))))
			}
			if !next.do(c).Replayed {
				w.Want("replayed", "applied again")
			}
			_ = next.driver.Close()
		})
	}},
	{ID: "B26f", Rule: "when the process that writes a role dies, the old role or the new one is there, whole", Abilities: []Ability{Kill, Durable}, run: func(w *world) {
		generation := func(n int) authz.Role {
			r := fullRole("r")
			r.Name = fmt.Sprint(n)
			for i := range 3000 {
				r.Patterns = append(r.Patterns, fmt.Sprintf("docs.p%d-%d", i, n))
			}
			return r
		}
		w.write(storage.UpsertRole{Role: generation(0)})
		start := time.Now()
		w.write(storage.UpsertRole{Role: generation(0)})
		length := time.Since(start)
		current := 0
		w.Rounds(w.ctx, 10, func(round int) {
			s := w.victim("")
			w.Interrupt(&length, func() { _, _ = s.Commit(w.ctx, changes(storage.UpsertRole{Role: generation(round + 1)})) }, func() { w.kill(s) })()
			next := w.victim("")
			got := next.role("r")
			if got.Name == fmt.Sprint(current) {
				w.same(generation(current), got)
			} else {
				w.same(generation(round+1), got)
			}
			current = round + 1
			next.write(storage.UpsertRole{Role: generation(current)})
			_ = next.driver.Close()
		})
	}},
	{ID: "B37f", Rule: "when the process that deletes a user dies, no membership survives its record", Abilities: []Ability{Kill, Durable}, run: func(w *world) {
		var groups []string
		for i := range 500 {
			groups = append(groups, fmt.Sprintf("g%03d", i))
		}
		length := time.Duration(0)
		w.Rounds(w.ctx, 10, func(round int) {
			id := fmt.Sprint("u", round)
			s := w.victim("")
			s.write(storage.UpsertUser{User: user(id, in(groups...))})
			if round == 0 {
				start := time.Now()
				s.write(storage.DeleteUser{UserID: id})
				length = time.Since(start)
				return
			}
			w.Interrupt(&length, func() { _, _ = s.Commit(w.ctx, changes(storage.DeleteUser{UserID: id})) }, func() { w.kill(s) })()
			next := w.victim("")
			for {
				_, before, err := next.GetUser(w.ctx, id)
				w.code("", err)
				memberships := 0
				for _, g := range []string{groups[0], groups[250], groups[499]} {
					memberships += len(next.members(g))
				}
				row, after, err := next.GetUser(w.ctx, id)
				w.code("", err)
				if before != after { // the dead process's deletion arrived just now
					continue
				}
				if after && (memberships != 3 || len(row.GroupIDs) != len(groups)) || !after && memberships != 0 {
					w.Want("the record with its memberships, or neither", "record %v, %d of 3 memberships looked at", after, memberships)
				}
				break
			}
			next.write(storage.DeleteUser{UserID: id})
			w.same([]string{}, next.members(groups[499]))
			_ = next.driver.Close()
		})
	}},
	{ID: "B73f", Rule: "when the holder's process is killed, the next waiter holds when the lease is over, and the dead holder's fence is stale", Abilities: []Ability{Kill, Processes, CrossLocks}, run: func(w *world) {
		w = w.fresh(Options{Lease: shortLease})
		holder := w.victim("")
		lost := holder.acquire("k")
		waited := w.waiter("k")
		time.Sleep(50 * time.Millisecond)
		w.kill(holder)
		section := w.granted(2*lost.Lease()+atOnce, waited)
		w.refuse(storage.CodeStaleFence, fenced(lost, putCounter("n", 1)))
		w.release(section)
	}},
}

// crashIsolation is the crash case of the isolation suite.
var crashIsolation = storageCase{ID: "I26", Rule: "when a process dies while it commits in one partition, another is unaffected and the commit is whole or absent", Abilities: []Ability{Kill, Durable}, run: func(w *world) {
	w.open("B").everything("B")
	length := w.open("A").crashLength("first")
	w.Rounds(w.ctx, 12, func(round int) {
		name := fmt.Sprint("u", round)
		s := w.victim("A")
		head := s.headNow()
		w.Interrupt(&length, func() { _, _ = s.Commit(w.ctx, w.crashCommit(name)) }, func() { w.kill(s) })()
		d := w.connect()
		b := w.openOver(d, "B")
		ctx, cancel := context.WithTimeout(w.ctx, 2*atOnce)
		_, err := b.Commit(ctx, changes(storage.UpsertUser{User: user("u-B", in("g"))}))
		cancel()
		if err != nil {
			w.Want("the other partition writes on", "%v", err)
		}
		b.only("B")
		a := w.openOver(d, "A")
		a.wholeOrAbsent(name, head)
		a.do(w.crashCommit(name))
		if !a.wholeOrAbsent(name, head) {
			w.Want("the commit whole after it was sent again", "absent")
		}
		b.only("B")
		_ = d.Close()
	})
}}
