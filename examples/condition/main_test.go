package main

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/authzhost/authz/examples/internal/demotest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

func TestTheConditionIsTheFinalAnd(t *testing.T) {
	held := func(context.Context, expense) (bool, error) { return false, nil }
	down := func(context.Context, expense) (bool, error) { return false, errors.New("the auditors are asleep") }
	for _, c := range []struct {
		sentence, user, expense string
		audited                 func(context.Context, expense) (bool, error)
		want                    int
	}{
		{"a colleague's expense is approved", "bob", "1", audited, http.StatusNoContent},
		{"an expense of one's own is not, whatever the rows say", "ada", "1", audited, http.StatusForbidden},
		{"one that the auditors hold is not", "bob", "1", held, http.StatusForbidden},
		{"a condition that cannot tell is no answer", "bob", "1", down, http.StatusServiceUnavailable},
		{"it does not run for who has no grant", "eve", "1", down, http.StatusForbidden},
		{"an unknown expense is not the question about everything", "bob", "7", audited, http.StatusNotFound},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle("POST /expenses/{id}/approval", approve(demotest.Open(t, permissions, rows).Client(), c.audited))
			if got, body := demotest.Serve(t, mux).As(c.user).Do("POST", "/expenses/"+c.expense+"/approval", nil); got != c.want {
				t.Errorf("answered %d %q, want %d", got, body, c.want)
			}
		})
	}
}

func TestNoGateCanForgetTheCondition(t *testing.T) {
	guard := demotest.Open(t, permissions, rows).Client()
	var missing *authz.MissingConditionError
	if _, err := guard.Can(t.Context(), authz.UserPrincipal("bob"), "money.expenses.approve", "money.team:sales"); !errors.As(err, &missing) {
		t.Errorf("Can answered %v", err)
	}
	err := guard.RequireGate(t.Context(), authz.UserPrincipal("bob"), client.Gate{Keys: []string{"money.expenses.approve"}, Scope: "money.team:sales"})
	if !errors.As(err, &missing) {
		t.Errorf("RequireGate answered %v", err)
	}
}
