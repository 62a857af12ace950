//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// fate is what a writer was told.
type fate string

const (
	applied fate = "acknowledged"
	refused fate = "refused" // or not applied, or never sent: no trace may be left
	unknown fate = "unknown" // whole or absent
)

// written is one write: who asked for what through which host, and the answer.
// Its actor is written nowhere else, so that every trace leads back to it.
type written struct {
	actor    string
	host     string
	mutation mutation
	fate     fate
	answer   error
	grant    string // the id of what an ownGrant made
}

// ledger keeps every write, and what later writes may name.
type ledger struct {
	mu      sync.Mutex
	writes  map[string]*written
	counts  map[fate]int
	untyped []*written // answers that no caller could act on

	grants, revokes []string // ids that were acknowledged and not yet asked to be deleted
}

func newLedger() *ledger {
	return &ledger{writes: map[string]*written{}, counts: map[fate]int{}}
}

// call carries out one write through a host and writes down what came of it.
func (l *ledger) call(ctx context.Context, h *host, actor string, m mutation) *written {
	op, params := m.call(authz.AdminProvenance(actor))
	var answer struct {
		Grant  *authz.Grant  `json:"grant"`
		Grants []authz.Grant `json:"grants"`
		Revoke *authz.Revoke `json:"revoke"`
	}
	err := h.caller.Call(ctx, op, params, &answer)
	w := &written{actor: actor, host: h.name, mutation: m, answer: err}
	var typed bool
	w.fate, typed = fateOf(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes[actor] = w
	l.counts[w.fate]++
	if !typed {
		l.untyped = append(l.untyped, w)
	}
	if _, own := m.(ownGrant); own && answer.Grant != nil {
		w.grant = answer.Grant.ID
	} else if answer.Grant != nil {
		l.grants = append(l.grants, answer.Grant.ID)
	}
	for _, g := range answer.Grants {
		l.grants = append(l.grants, g.ID)
	}
	if answer.Revoke != nil {
		l.revokes = append(l.revokes, answer.Revoke.ID)
	}
	return w
}

// fateOf reads an answer. One that is not typed is unknown.
func fateOf(err error) (f fate, typed bool) {
	var rejected *authz.WriteRejectedError
	var down *authz.UnavailableError
	var transport *provider.TransportError
	var socket *net.OpError
	switch {
	case err == nil:
		return applied, true
	case errors.As(err, &rejected):
		return refused, true
	case errors.As(err, &down) && down.Outcome == authz.OutcomeNotApplied:
		return refused, true
	case errors.As(err, &down):
		return unknown, true
	case errors.As(err, &socket) && socket.Op == "dial":
		return refused, true
	case errors.As(err, &transport) && transport.Status == 0:
		return unknown, true
	}
	return unknown, false
}

// isGone says that what was to be deleted is not there.
func isGone(err error) bool { return authz.CodeOf(err) == authz.CodeNotFound }

// pick takes an id out of a list by a random number.
func (l *ledger) pick(list *[]string, n uint64) (id string, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(*list) == 0 {
		return "", false
	}
	i := int(n % uint64(len(*list)))
	id = (*list)[i]
	(*list)[i] = (*list)[len(*list)-1]
	*list = (*list)[:len(*list)-1]
	return id, true
}

func (l *ledger) count() (acknowledged, refusals, unknowns int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[applied], l.counts[refused], l.counts[unknown]
}

// dump writes every write and what it was answered into a file.
func (l *ledger) dump(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text strings.Builder
	for _, actor := range sortedKeys(l.writes) {
		w := l.writes[actor]
		fmt.Fprintf(&text, "%s\t%s\t%s\t%v\n", w.fate, w.host, w, w.answer)
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}
