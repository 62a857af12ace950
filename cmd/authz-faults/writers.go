//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// Names are few, so that writers meet.
const (
	users  = 30
	roles  = 8
	groups = 10
	leaves = 6 // groups that come and go; no grant names them
	docs   = 6
)

var (
	keys = []string{"lab.files.read", "lab.files.update", "lab.files.share", "lab.notes.read", "lab.notes.create", "lab.notes.delete"}

	patterns = append([]string{"lab.files.*", "lab.notes.*", "lab.*"}, keys...)
)

// answerTime is how long a writer waits; the host answers within 30 s.
const answerTime = 40 * time.Second

// dice are one writer's choices: the seed and the writer decide them.
type dice struct{ *rand.Rand }

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

func (d dice) name(prefix string, n int) string { return fmt.Sprint(prefix, d.IntN(n)) }

func (d dice) user() string { return d.name("u", users) }

func (d dice) scope() string {
	if d.IntN(3) == 0 {
		return authz.Global
	}
	return d.name("lab.doc:", docs)
}

func (d dice) of(list []string) string { return list[d.IntN(len(list))] }

// some picks up to n of what choose makes.
func (d dice) some(n int, choose func() string) []string {
	list := []string{}
	for range d.IntN(n + 1) {
		list = append(list, choose())
	}
	return distinct(list)
}

func (d dice) anyGroup() string {
	if d.IntN(3) == 0 {
		return d.name("leaf", leaves)
	}
	return d.name("g", groups)
}

func (d dice) tuple() grantTuple {
	t := grantTuple{Subject: "user:" + d.user(), Scope: d.scope()}
	switch d.IntN(6) {
	case 0, 1:
		t.Subject = "group:" + d.name("g", groups)
	case 2:
		t.Subject = "directs:" + d.user()
	}
	if d.IntN(2) == 0 {
		t.RoleID = d.name("r", roles)
	} else {
		t.Pattern = d.of(patterns)
	}
	return t
}

func (d dice) mutation(l *ledger) mutation {
	switch n := d.IntN(100); {
	case n < 30:
		return createGrant{d.tuple()}
	case n < 34:
		tuples := make([]grantTuple, 2+d.IntN(20))
		for i := range tuples {
			tuples[i] = d.tuple()
		}
		return createGrants{tuples}
	case n < 56:
		if id, found := l.pick(&l.grants, d.Uint64()); found {
			return deleteGrant{id}
		}
	case n < 62:
		return createRevoke{d.user(), d.of(patterns), d.scope()}
	case n < 68:
		if id, found := l.pick(&l.revokes, d.Uint64()); found {
			return deleteRevoke{id}
		}
	case n < 71:
		return createRole{d.name("r", roles), []string{d.of(patterns)}}
	case n < 75:
		return updateRole{d.name("r", roles), append([]string{d.of(patterns)}, d.some(2, func() string { return d.of(patterns) })...)}
	case n < 77:
		return deleteRole{d.name("r", roles)}
	case n < 80:
		return createGroup{d.name("leaf", leaves), d.some(2, d.anyGroup)}
	case n < 84:
		return setGroupParents{d.anyGroup(), d.some(2, d.anyGroup)}
	case n < 86:
		return deleteGroup{d.name("leaf", leaves)}
	case n < 92:
		return setMembership{d.user(), d.some(3, d.anyGroup)}
	case n < 95:
		return setActive{d.user(), d.IntN(4) > 0}
	case n < 98:
		return setManager{d.user(), d.user()}
	}
	return setManager{d.user(), ""}
}

// populate writes the first rows, before anything is killed.
func (s *stage) populate(ctx context.Context) error {
	d := newDice(s.options.seed, 0)
	var first []mutation
	for i := range roles {
		first = append(first, createRole{fmt.Sprint("r", i), []string{d.of(patterns)}})
	}
	for i := range groups {
		first = append(first, createGroup{fmt.Sprint("g", i), []string{}})
	}
	for i := range users {
		first = append(first, setMembership{fmt.Sprint("u", i), d.some(3, func() string { return d.name("g", groups) })})
	}
	for i, m := range first {
		w := s.ledger.call(ctx, s.hosts[0], fmt.Sprint("first-", i), m)
		if w.answer != nil {
			return w.answer
		}
	}
	return nil
}

// write starts the writers, and a reader for each host that keeps its caches
// full. The result is closed when they have ended, after ctx.
func (s *stage) write(ctx context.Context, r *report) <-chan struct{} {
	var all sync.WaitGroup
	for i, h := range s.hosts {
		for n := range s.options.writers {
			all.Go(func() { s.writer(ctx, h, fmt.Sprint("w", i, "-", n), uint64(1+i*100+n)) })
		}
		all.Go(func() { s.reader(ctx, h, uint64(1000+i), r) })
		all.Go(func() { s.probe(ctx, h, s.hosts[1-i], r) })
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	return done
}

func (s *stage) writer(ctx context.Context, h *host, name string, stream uint64) {
	d := newDice(s.options.seed, stream)
	for n := 0; ctx.Err() == nil; n++ {
		// A write that began is waited for: its answer belongs into the ledger.
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
		w := s.ledger.call(call, h, fmt.Sprint(name, "-", n), d.mutation(s.ledger))
		cancel()
		pause := time.Duration(d.IntN(16)) * time.Millisecond
		if w.fate != applied {
			pause += 50 * time.Millisecond // a host that is down answers at once
		}
		time.Sleep(pause)
	}
}

func (s *stage) reader(ctx context.Context, h *host, stream uint64, r *report) {
	d := newDice(s.options.seed, stream)
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, answerTime)
		_, err := h.allowed(call, d.question())
		cancel()
		if _, typed := fateOf(err); !typed && ctx.Err() == nil {
			r.broken(typedAnswers, "a check through host %s answered %v", h.name, err)
		}
		time.Sleep(time.Duration(d.IntN(30)) * time.Millisecond)
	}
}

// writable proves that nothing is wedged: every host acknowledges a write that
// takes every kind of section.
func (s *stage) writable(ctx context.Context) error {
	for _, h := range s.hosts {
		for i, m := range []mutation{setMembership{"u0", []string{"g0"}}, setManager{"u0", ""}, createRole{"after-" + h.name, []string{keys[0]}}} {
			call, cancel := context.WithTimeout(ctx, answerTime)
			w := s.ledger.call(call, h, fmt.Sprint("after-", h.name, "-", i), m)
			cancel()
			if w.answer != nil {
				return fmt.Errorf("host %s cannot write after the last fault: %w", h.name, w.answer)
			}
		}
	}
	return nil
}
