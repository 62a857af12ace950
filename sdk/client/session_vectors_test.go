package client_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sessionCase is one line of session.jsonl.
type sessionCase struct {
	vectors.World
	Kind     string                `json:"kind"`
	External client.ExternalPolicy `json:"externalPermissions"`
	Sessions []sessionRun          `json:"sessions"`
	Cases    []struct {
		Raw   any            `json:"raw"`
		State *client.ViewAs `json:"state"`
	} `json:"cases"`
}

type sessionRun struct {
	Op            string         `json:"op"`
	Actor         string         `json:"actor"`
	ViewAs        *client.ViewAs `json:"viewAs"`
	SubjectUserID string         `json:"subjectUserId"`
	Want          json.RawMessage
	Err           *wantedError  `json:"err"`
	Steps         []sessionStep `json:"steps"`
}

type sessionStep struct {
	Op            string          `json:"op"`
	Key           keys            `json:"key"`
	Pattern       string          `json:"pattern"`
	Scope         string          `json:"scope"`
	Scopes        []string        `json:"scopes"`
	Condition     *bool           `json:"condition"`
	RoleID        string          `json:"id"`
	Patterns      []string        `json:"patterns"`
	At            int64           `json:"at"`
	SubjectUserID string          `json:"subjectUserId"`
	Checks        []sessionStep   `json:"checks"`
	Want          json.RawMessage `json:"want"`
	Err           *wantedError    `json:"err"`
	Observed      []observed      `json:"observed"`
}

// observed is an observation as the file gives it: of the actor alone.
type observed struct {
	Principal  string           `json:"principal"`
	Decision   metrics.Decision `json:"decision"`
	Permission *string          `json:"permission"`
}

// observations collects what an observer is told.
type observations []observed

func (o *observations) Observe(c metrics.CheckObservation) error {
	seen := observed{Principal: c.Principal.Subject(), Decision: c.Decision}
	if c.Permission != "" {
		seen.Permission = &c.Permission
	}
	*o = append(*o, seen)
	return nil
}

// compare takes what was seen since the last time. The decision of a visibility
// shape is left to its answer: the recorded implementation lets a bare "*" grant
// reach into open regions, which the rules do not (spec: access §9; pse0026).
func (o *observations) compare(t *testing.T, n int, step sessionStep) {
	t.Helper()
	sameDecision := cmp.FilterPath(func(p cmp.Path) bool {
		return (step.Op == "canAny" || step.Op == "requireAny") && p.Last().String() == ".Decision"
	}, cmp.Ignore())
	if diff := cmp.Diff(step.Observed, []observed(*o), cmpopts.EquateEmpty(), sameDecision); diff != "" {
		t.Errorf("step %d %s: observed (-want +got)\n%s", n, step.Op, diff)
	}
	*o = nil
}

func TestVectorsSession(t *testing.T) {
	vectors.Replay(t, "session.jsonl", nil, func(t *testing.T, c sessionCase) {
		switch c.Kind {
		case "parse", "serialize":
			for _, s := range c.Cases {
				if c.Kind == "parse" {
					raw, _ := s.Raw.(string) // of what is no text a caller here can only give none
					if diff := cmp.Diff(s.State, client.ParseViewAs(raw)); diff != "" {
						t.Errorf("%#v (-want +got)\n%s", s.Raw, diff)
					}
				} else if got := s.State.String(); got != s.Raw {
					t.Errorf("%+v is %q, want %q", s.State, got, s.Raw)
				}
			}
		case "world":
			var seen observations
			app, cl := attachWith(t, c.World, func(o *client.Options) {
				o.External = c.External
				// A busy machine must not make the check leave its observer behind.
				o.Metrics = &metrics.RecorderOptions{Observers: []metrics.Observer{&seen}, ObserverTimeout: time.Minute}
			})
			for i, run := range c.Sessions {
				replaySession(t, 1000*i, app, cl, run, &seen)
			}
		default:
			t.Fatalf("unknown kind %q", c.Kind)
		}
	})
}

// roleUpdater is what a session case writes.
type roleUpdater interface {
	UpdateRole(ctx context.Context, id string, in provider.RoleUpdate, prov authz.Provenance) (authz.Role, error)
}

func replaySession(t *testing.T, n int, app roleUpdater, c *client.Client, run sessionRun, seen *observations) {
	ctx := context.Background()
	if run.Op == "assertCanViewAs" {
		judgeSession(t, n, sessionStep{Op: run.Op, Want: run.Want, Err: run.Err}, true, c.AssertCanViewAs(ctx, run.Actor))
		return
	}
	if run.Op != "session" {
		t.Fatalf("session %d: unknown operation %s", n, run.Op)
	}
	s, err := c.Session(ctx, run.Actor, run.ViewAs)
	if run.Err != nil || err != nil {
		judgeSession(t, n, sessionStep{Op: run.Op, Err: run.Err}, nil, err)
		return
	}
	if s.SubjectUserID() != run.SubjectUserID {
		t.Errorf("session %d: subject %s, want %s", n, s.SubjectUserID(), run.SubjectUserID)
	}
	*seen = nil // the view-as gate's own
	for i, step := range run.Steps {
		at := n + i
		gate := client.Gate{Keys: step.Key.list, Scope: step.Scope, Condition: condition(step.Condition)}
		switch step.Op {
		case "can":
			got, err := s.Check(ctx, gate)
			judgeSession(t, at, step, got, err)
			seen.compare(t, at, step)
			gate.Fresh = true
			got, err = s.Check(ctx, gate)
			judgeSession(t, at, step, got, err)
			seen.compare(t, at, step)
		case "require":
			judgeSession(t, at, step, true, s.RequireGate(ctx, gate))
			seen.compare(t, at, step)
		case "canAny":
			got, err := s.CanAny(ctx, step.Pattern)
			judgeSession(t, at, step, got, err)
			seen.compare(t, at, step)
		case "requireAny":
			judgeSession(t, at, step, true, s.RequireAny(ctx, step.Pattern))
			seen.compare(t, at, step)
		case "updateRole":
			if _, err := app.UpdateRole(ctx, step.RoleID, provider.RoleUpdate{Patterns: &step.Patterns}, authz.Provenance{Kind: authz.ProvenanceSystem}); err != nil {
				t.Fatalf("step %d: %v", at, err)
			}
		case "snapshot":
			snapshot, err := s.Snapshot(ctx, client.SnapshotOptions{Scopes: step.Scopes})
			if step.Err != nil || err != nil {
				judgeSession(t, at, step, nil, err)
				continue
			}
			if snapshot.At() != step.At || snapshot.SubjectUserID() != step.SubjectUserID {
				t.Errorf("step %d: snapshot at %d of %s", at, snapshot.At(), snapshot.SubjectUserID())
			}
			for j, check := range step.Checks {
				replaySessionCheck(t, 100*at+j, snapshot, check)
				seen.compare(t, 100*at+j, check)
			}
		default:
			t.Errorf("step %d: unknown operation %s", at, step.Op)
		}
	}
}

func replaySessionCheck(t *testing.T, n int, s *client.SessionSnapshot, step sessionStep) {
	gate := client.Gate{Keys: step.Key.list, Scope: step.Scope, Condition: condition(step.Condition)}
	switch step.Op {
	case "can":
		got, err := s.Check(gate)
		judgeSession(t, n, step, got, err)
	case "require":
		judgeSession(t, n, step, true, s.RequireGate(gate))
	case "canAny":
		got, err := s.CanAny(step.Pattern)
		judgeSession(t, n, step, got, err)
	case "requireAny":
		judgeSession(t, n, step, true, s.RequireAny(step.Pattern))
	case "holds":
		got, err := s.Holds(step.Key.list[0])
		judgeSession(t, n, step, got, err)
	case "heldKeys":
		judgeSession(t, n, step, s.HeldKeys(), nil)
	case "resolve":
		if err := s.Resolve(context.Background(), step.Scopes...); err != nil {
			t.Errorf("step %d resolve: %v", n, err)
		}
	default:
		t.Errorf("step %d: unknown operation %s", n, step.Op)
	}
}

func judgeSession(t *testing.T, n int, step sessionStep, got any, err error) {
	t.Helper()
	if step.Err == nil {
		if err != nil {
			t.Errorf("step %d %s %v%s: %v", n, step.Op, step.Key.list, step.Pattern, err)
			return
		}
		text, _ := json.Marshal(got)
		if len(step.Want) > 0 && !jsonEqual(text, step.Want) {
			t.Errorf("step %d %s %v%s at %q: %s, want %s", n, step.Op, step.Key.list, step.Pattern, step.Scope, text, step.Want)
		}
		return
	}
	if differs := step.Err.mismatch(err); differs != "" {
		t.Errorf("step %d %s %v%s: %s", n, step.Op, step.Key.list, step.Pattern, differs)
	}
}

func jsonEqual(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}
