package eventlog_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

func await(t *testing.T, n *node, at authz.Position) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	return n.client.AwaitPosition(ctx, at)
}

func TestAwaitingAPositionOfAnotherProcess(t *testing.T) {
	m := newMesh(t.Fatal, t.Cleanup)
	first, second, jane := m.nodes[0], m.nodes[1], authz.UserPrincipal("jane")
	if second.can(t, jane) {
		t.Fatal("granted by nobody")
	}
	grant(t, second.Application, "user:joe") // the sum is as high as what is awaited, of other events
	grant(t, first.peer, "user:jane")
	at := head(t, first.log)
	if err := await(t, second, at.Position); err != nil {
		t.Fatal(err)
	}
	if !second.can(t, jane) {
		t.Error("answered from before the position")
	}
	grant(t, second.Application, "user:joe")
	if err := await(t, second, at.Position); err != nil {
		t.Errorf("a position of before: %v", err)
	}
}

func TestAwaitingFailsWhereNothingTells(t *testing.T) {
	m := newMesh(t.Fatal, t.Cleanup)
	n := m.nodes[0]
	grant(t, n.Application, "user:joe")
	c, ok := head(t, n.log).Composite()
	if !ok {
		t.Fatal("no composite")
	}
	position := func(c authz.Composite) authz.Position {
		at, err := c.Position()
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	with := func(seq int64, identity string) authz.Position {
		return position(authz.Composite{Logs: c.Logs, Terms: []authz.Position{c.Terms[0], {Seq: seq, Identity: identity}}})
	}
	for name, at := range map[string]authz.Position{
		"a later event":                 with(c.Terms[1].Seq+1, ""),
		"another event of one number":   with(c.Terms[1].Seq, "aa"),
		"an earlier one that was lost":  with(1, "aa"),
		"other logs":                    position(authz.Composite{Logs: authz.NewLogSet("other"), Terms: c.Terms}),
		"the event of one of the logs":  c.Terms[1],
		"a stamp of a later version":    {Seq: 0, Identity: "~2abc"},
		"a stamp that says another sum": {Seq: 0, Identity: head(t, n.log).Identity},
	} {
		var unavailable *authz.UnavailableError
		if err := await(t, n, at); !errors.As(err, &unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, seq := range []int64{0, 1, 99} {
		var rejected *authz.WriteRejectedError
		if err := await(t, n, authz.Position{Seq: seq}); !errors.As(err, &rejected) || rejected.Code != authz.CodeValidation {
			t.Errorf("the number %d alone: %v", seq, err)
		}
	}
}
