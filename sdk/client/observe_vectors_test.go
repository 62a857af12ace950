package client_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/metrics"
)

// observationCase is a line of metrics.jsonl about the client; the other kinds
// are replayed by sdk/metrics.
type observationCase struct {
	vectors.World
	Kind     string                `json:"kind"`
	External client.ExternalPolicy `json:"externalPermissions"`
	Metrics  struct {
		SampleRate     any `json:"sampleRate"`
		ScopeInstances any `json:"scopeInstances"`
	} `json:"metrics"`
	Draws []float64         `json:"randomDraws"`
	Steps []observationStep `json:"steps"`
}

type observationStep struct {
	Op           string            `json:"op"`
	Principal    authz.Principal   `json:"principal"`
	Key          keys              `json:"key"`
	Condition    *bool             `json:"condition"`
	Pattern      string            `json:"pattern"`
	Scope        string            `json:"scope"`
	Scopes       []string          `json:"scopes"`
	Checks       []observationStep `json:"checks"` // of a snapshot
	Observe      *bool             `json:"observe"`
	Draws        int               `json:"draws"`
	Observations []json.RawMessage `json:"observations"`

	Want json.RawMessage `json:"want"` // compared elsewhere
	Err  *wantedError    `json:"err"`
}

func (s observationStep) gate() client.Gate {
	return client.Gate{Keys: s.Key.list, Scope: s.Scope, Condition: condition(s.Condition)}
}

func TestVectorsObservations(t *testing.T) {
	covers := func(c observationCase) bool { return c.Kind == "observations" }
	vectors.Replay(t, "metrics.jsonl", covers, func(t *testing.T, c observationCase) {
		var seen []metrics.CheckObservation
		draws := 0
		options := metrics.RecorderOptions{
			Observers: []metrics.Observer{metrics.ObserverFunc(func(o metrics.CheckObservation) error { seen = append(seen, o); return nil })},
			Random:    func() float64 { draws++; return c.Draws[draws-1] },

			ObserverTimeout: time.Minute, // a busy machine must not make the check leave its observer behind
		}
		switch rate := c.Metrics.SampleRate.(type) {
		case float64:
			options.GateRate = &rate
		case map[string]any:
			if gate, ok := rate["gate"].(float64); ok {
				options.GateRate = &gate
			}
			if visibility, ok := rate["visibility"].(float64); ok {
				options.VisibilityRate = &visibility
			}
		}
		switch instances := c.Metrics.ScopeInstances.(type) {
		case string:
			if instances == "instance" {
				options.ScopeInstances = []string{metrics.EveryScopeType}
			}
		case []any:
			for _, scopeType := range instances {
				options.ScopeInstances = append(options.ScopeInstances, scopeType.(string))
			}
		}
		_, cl := attachWith(t, c.World, func(o *client.Options) { o.Metrics, o.External = &options, c.External })
		for i, s := range c.Steps {
			seen, draws = nil, 0
			asked := cl
			if s.Observe != nil && !*s.Observe {
				asked = cl.Unobserved()
			}
			observedCheck(t, asked, s)
			c.Draws = c.Draws[draws:]
			if draws != s.Draws || len(seen) != len(s.Observations) {
				t.Fatalf("step %d %s: %d draws, %d observations, want %d and %d", i, s.Op, draws, len(seen), s.Draws, len(s.Observations))
			}
			for n, want := range s.Observations {
				slices.Sort(seen[n].MatchedGrantIDs)
				slices.Sort(seen[n].MatchedRevokeIDs)
				slices.Sort(seen[n].RoleIDs)
				got, err := json.Marshal(seen[n])
				if err != nil || !jsonEqual(got, want) {
					t.Errorf("step %d %s: %v\n got %s\nwant %s", i, s.Op, err, got, want)
				}
			}
		}
	})
}

// observedSnapshot runs the checks of one snapshot for their observations.
func observedSnapshot(t *testing.T, s *client.Snapshot, checks []observationStep) {
	for _, q := range checks {
		gate := q.gate()
		switch q.Op {
		case "can":
			_, _ = s.Check(gate)
		case "require":
			_ = s.RequireGate(gate)
		case "canAny":
			_, _ = s.CanAny(q.Pattern)
		case "requireAny":
			_ = s.RequireAny(q.Pattern)
		case "holds":
			_, _ = s.Holds(gate.Keys[0])
		case "heldKeys":
			_ = s.HeldKeys()
		case "grantedScopes":
			_, _ = s.GrantedScopes(gate.Keys[0])
		case "explain":
			_, _ = s.Explain(gate.Keys[0], q.Scope)
		case "resolve":
			if err := s.Resolve(context.Background(), q.Scopes...); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("unknown operation %s", q.Op)
		}
	}
}

// observedCheck runs a check for its observation; answers are compared elsewhere.
func observedCheck(t *testing.T, c *client.Client, step observationStep) {
	ctx, p, gate, pattern := context.Background(), step.Principal, step.gate(), step.Pattern
	fresh := gate
	fresh.Fresh = true
	keys, scope := gate.Keys, gate.Scope
	snapshot := func(scopes ...string) *client.Snapshot {
		s, err := c.Snapshot(ctx, p, client.SnapshotOptions{Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	switch step.Op {
	case "snapshot":
		observedSnapshot(t, snapshot(step.Scopes...), step.Checks)
	case "can":
		_, _ = c.Check(ctx, p, gate)
	case "canFresh":
		_, _ = c.Check(ctx, p, fresh)
	case "require":
		_ = c.RequireGate(ctx, p, gate)
	case "canAny":
		_, _ = c.CanAny(ctx, p, pattern)
	case "requireAny":
		_ = c.RequireAny(ctx, p, pattern)
	case "holds":
		_, _ = c.Holds(ctx, p, keys[0])
	case "heldKeys":
		_, _ = c.HeldKeys(ctx, p)
	case "explain":
		_, _ = c.Explain(ctx, p, keys[0], scope)
	case "grantedScopes":
		_, _ = c.GrantedScopes(ctx, p, keys[0])
	case "snapshotCan":
		_, _ = snapshot(scope).Check(gate)
	case "snapshotCanAny":
		_, _ = snapshot(scope).CanAny(pattern)
	case "snapshotHolds":
		_, _ = snapshot(scope).Holds(keys[0])
	default:
		t.Fatalf("unknown operation %s", step.Op)
	}
}
