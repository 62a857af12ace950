//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/sdk/authz"
)

// The invariants, as the report names them.
const (
	wholeWrites  = "every acknowledged write is there exactly once, every refused one left no trace, one of unknown fate is whole or absent"
	sameRows     = "the rows are what the audit log says was written"
	sameEvents   = "every commit left its events, once, in order, under contiguous numbers"
	soundChain   = "the audit chain verifies"
	noCycle      = "no group and no reporting cycle is stored"
	sameAnswers  = "hosts that lived through it answer as a fresh evaluation of the rows does"
	freshEnough  = "no host allows what was taken away for longer than the stated bounds"
	typedAnswers = "every failure is typed"
	lively       = "hosts recover: they are ready, write and answer after the last fault, and the run is carried out to its end"
)

var invariants = []string{wholeWrites, sameRows, sameEvents, soundChain, noCycle, sameAnswers, freshEnough, typedAnswers, lively}

// verify reads everything through a host that saw nothing of the run.
func (s *stage) verify(ctx context.Context, r *report) error {
	r.say("verifying through a fresh host")
	fresh, err := s.newHost("C")
	if err != nil {
		return err
	}
	lived := s.hosts
	s.hosts = append(slices.Clip(lived), fresh)
	if err := fresh.serve(); err != nil {
		return err
	}
	if err := fresh.ready(ctx, recovery); err != nil {
		return fmt.Errorf("%w\n%s", err, fresh.lastLines())
	}
	quiet := time.Now()
	entries, err := fresh.audit(ctx)
	if err != nil {
		return err
	}
	if len(entries) < s.base.entries {
		r.broken(soundChain, "the audit log shrank from %d entries to %d", s.base.entries, len(entries))
		return nil
	}
	m, events := s.replay(r, entries[s.base.entries:])
	if err := s.verifyEvents(ctx, r, fresh, events); err != nil {
		return err
	}
	if err := s.verifyRows(ctx, r, fresh, m); err != nil {
		return err
	}
	var chain struct {
		OK     bool   `json:"ok"`
		Hashed int    `json:"hashed"`
		Index  int    `json:"index"`
		Reason string `json:"reason"`
	}
	if err := fresh.local.Call(ctx, application, "verifyAuditChain", nil, &chain); err != nil {
		return err
	}
	if !chain.OK || chain.Hashed != len(entries) {
		r.broken(soundChain, "%d of %d entries are linked; entry %d: %s", chain.Hashed, len(entries), chain.Index, chain.Reason)
	}
	for _, w := range s.ledger.untyped {
		r.broken(typedAnswers, "%s through host %s was answered %v", w, w.host, w.answer)
	}
	return s.verifyAnswers(ctx, r, lived, fresh, quiet)
}

// replay plays the commits in the order of the log, one for each run of entries
// of an actor, and returns the rows and the events that must be there.
func (s *stage) replay(r *report, entries []authz.AuditEntry) (*model, []authz.Event) {
	m, events, seen := newModel(), []authz.Event{}, map[string]bool{}
	for len(entries) > 0 {
		actor := entries[0].Actor
		n := slices.IndexFunc(entries, func(e authz.AuditEntry) bool { return e.Actor != actor })
		if n < 0 {
			n = len(entries)
		}
		commit := entries[:n]
		entries = entries[n:]
		w := s.ledger.writes[actor]
		switch {
		case w == nil:
			r.broken(wholeWrites, "an audit entry of nobody: %+v", commit[0])
			continue
		case seen[actor]:
			r.broken(wholeWrites, "%s was applied again: %+v", w, commit[0])
			continue
		case w.fate == refused:
			r.broken(wholeWrites, "%s was refused (%v) and left %+v", w, w.answer, commit[0])
		}
		seen[actor] = true
		left, err := w.mutation.play(m, commit, authz.AdminProvenance(actor))
		if err != nil {
			r.broken(wholeWrites, "%s: %v", w, err)
		}
		got := []entry{}
		for _, e := range commit {
			got = append(got, entry{e.Action, e.Target})
		}
		if !slices.Equal(got, left.entries) {
			r.broken(wholeWrites, "%s left the audit entries %v, want %v", w, got, left.entries)
		}
		events = append(events, left.events...)
	}
	for _, actor := range sortedKeys(s.ledger.writes) {
		if w := s.ledger.writes[actor]; w.fate == applied && !seen[actor] {
			r.broken(wholeWrites, "%s was acknowledged through host %s and has no audit entry", w, w.host)
		}
	}
	r.played = len(seen)
	return m, events
}

func (w *written) String() string { return fmt.Sprintf("%s %T%+v", w.actor, w.mutation, w.mutation) }

func (s *stage) verifyEvents(ctx context.Context, r *report, fresh *host, want []authz.Event) error {
	got, head, err := fresh.events(ctx, s.base.seq)
	if err != nil {
		return err
	}
	r.events = len(got)
	if reached := s.base.seq + int64(len(got)); reached != head {
		r.broken(sameEvents, "reading from %d ends at %d, the head is %d", s.base.seq, reached, head)
	}
	for i := range max(len(got), len(want)) {
		if i < len(got) && i < len(want) && got[i] == want[i] {
			continue
		}
		r.broken(sameEvents, "event %d is the first that differs: got %+v, want %+v (%d events, want %d)", s.base.seq+int64(i)+1,
			got[i:min(i+2, len(got))], want[i:min(i+2, len(want))], len(got), len(want))
		break
	}
	return nil
}

// verifyRows compares lists, and of each user what evaluation is supplied with.
func (s *stage) verifyRows(ctx context.Context, r *report, fresh *host, m *model) error {
	got, err := fresh.stored(ctx)
	if err != nil {
		return err
	}
	r.rows = len(got.grants) + len(got.revokes) + len(got.roles) + len(got.groups)
	same := func(what string, got, want any) {
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(authz.Expiry{})); diff != "" {
			r.broken(sameRows, "%s (-as the audit log says +as stored):\n%s", what, diff)
		}
	}
	same("grants", got.grants, m.grants)
	same("revokes", got.revokes, m.revokes)
	same("roles", got.roles, m.roles)
	same("groups", got.groups, m.groups)
	for id, g := range got.groups {
		if got.reaches(g.Parents, id, map[string]bool{}) {
			r.broken(noCycle, "group %s is its own ancestor", id)
		}
	}
	managers := map[string]string{}
	for id, u := range m.users {
		if u.ManagerUserID != "" {
			managers[id] = u.ManagerUserID
		}
	}
	var edges struct {
		Edges map[string]string `json:"edges"`
	}
	if err := fresh.caller.Call(ctx, "getReportingEdges", nil, &edges); err != nil {
		return err
	}
	same("reporting edges", edges.Edges, managers)
	for id := range edges.Edges {
		seen := map[string]bool{}
		for at := id; at != ""; at = edges.Edges[at] {
			if seen[at] {
				r.broken(noCycle, "user %s is managed in a circle", at)
				break
			}
			seen[at] = true
		}
	}
	for i := range users {
		id := fmt.Sprint("u", i)
		data, err := fresh.access(ctx, id)
		if err != nil {
			return err
		}
		same("whether "+id+" is active", data.Active, m.user(id).Active)
		same("the subjects of "+id, data.Closure, m.closure(id))
	}
	return nil
}
