package api

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func TestAnOperationThatRunsOutOfTimeIsAnOutageAndOfAWriteNobodyKnowsTheOutcome(t *testing.T) {
	waits := func(ctx context.Context, _ *call, _ *none) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for kind, want := range map[provider.Kind]authz.Outcome{provider.Read: "", provider.Write: authz.OutcomeUnknown} {
		e := own(provider.Operation{Op: "slow", Kind: kind}, waits).lasting(time.Millisecond)
		_, err := e.run(t.Context(), newCall("slow", nil, target{}))
		var outage *authz.UnavailableError
		if !errors.As(err, &outage) || outage.Outcome != want {
			t.Errorf("%s: %v, want an outage with outcome %q", kind, err, want)
		}
	}
}

func TestAnErrorOfTheOperationIsKeptEvenWhenTimeRanOut(t *testing.T) {
	refused := authz.Validation("no")
	e := own(reading("slow"), func(ctx context.Context, _ *call, _ *none) (any, error) {
		<-ctx.Done()
		return nil, refused
	}).lasting(time.Millisecond)
	if _, err := e.run(t.Context(), newCall("slow", nil, target{})); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

func TestNothingRunsWhenAParameterDidNotRead(t *testing.T) {
	type input struct {
		Flag bool   `json:"flag"`
		Text string `json:"text"`
	}
	e := own(reading("op"), func(context.Context, *call, *input) (any, error) {
		t.Error("the operation ran")
		return nil, nil
	})
	members, err := parseBody([]byte(`{"flag":5,"text":6}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.run(t.Context(), newCall("op", members, target{}))
	if diff := cmp.Diff(`op: "flag" must be a boolean`, err.Error()); diff != "" { // the first fault
		t.Error(diff)
	}
}
