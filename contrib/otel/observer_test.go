package authzotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	authzotel "github.com/authzhost/authz/contrib/otel"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// collect observes and reads the meter back as sorted lines "name{attributes} value".
func collect(t *testing.T, o authzotel.Options, stream ...metrics.CheckObservation) []string {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer func() { _ = provider.Shutdown(context.Background()) }() // the reader was read
	o.Meter = provider.Meter("test")
	observer, err := authzotel.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, observation := range stream {
		if err := observer.Observe(observation); err != nil {
			t.Fatal(err)
		}
	}
	var read metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &read); err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, scope := range read.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[float64])
			if !ok || !sum.IsMonotonic || m.Unit != "{check}" {
				t.Errorf("%s is a %T in %q", m.Name, m.Data, m.Unit)
			}
			for _, point := range sum.DataPoints {
				attributes := []string{}
				for _, kv := range point.Attributes.ToSlice() {
					attributes = append(attributes, fmt.Sprintf("%s=%s:%s", kv.Key, strings.ToLower(kv.Value.Type().String()), kv.Value.String()))
				}
				lines = append(lines, fmt.Sprintf("%s{%s} %g", m.Name, strings.Join(attributes, " "), point.Value))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

var allowed = metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: "docs.files.delete",
	ScopeType: "docs.folder", Scope: "docs.folder:1", Principal: authz.UserPrincipal("u1"),
	MatchedGrantIDs: []string{"g9"}, SoleMatchGrantID: "g9", RoleIDs: []string{"r_editor"}, Fresh: true, SampleRate: 1}

var denied = metrics.CheckObservation{Shape: metrics.ShapeRequire, Decision: metrics.Deny, Permission: "docs.files.delete",
	ScopeType: "*", Principal: authz.ServicePrincipal("s1"), MatchedRevokeIDs: []string{"rv1", "rv2"}, SampleRate: 0.25}

func TestMeasurements(t *testing.T) {
	const checkAllowed = "authz.checks{decision=string:allow fresh=bool:true gate=bool:true implied=bool:false permission=string:docs.files.delete " +
		"scope=string:docs.folder:1 scope_type=string:docs.folder shape=string:can snapshot=bool:false} "
	const checkDenied = "authz.checks{decision=string:deny fresh=bool:false gate=bool:true implied=bool:false permission=string:docs.files.delete " +
		"scope_type=string:* shape=string:require snapshot=bool:false} "
	cases := map[string]struct {
		options authzotel.Options
		stream  []metrics.CheckObservation
		want    []string
	}{
		"an allow counts the check, its grants, the sole one and their roles": {
			stream: []metrics.CheckObservation{allowed, allowed},
			want: []string{checkAllowed + "2", "authz.grant.matched{grant_id=string:g9} 2",
				"authz.grant.sole_match{gate=bool:true grant_id=string:g9} 2", "authz.role.matched{role_id=string:r_editor} 2"}},
		"a denial counts what it stands for, and its revokes": {
			stream: []metrics.CheckObservation{denied},
			want:   []string{checkDenied + "4", "authz.revoke.matched{revoke_id=string:rv1} 4", "authz.revoke.matched{revoke_id=string:rv2} 4"}},
		"or only what was sampled": {
			options: authzotel.Options{CountSampledOnly: true}, stream: []metrics.CheckObservation{denied},
			want: []string{checkDenied + "1", "authz.revoke.matched{revoke_id=string:rv1} 1", "authz.revoke.matched{revoke_id=string:rv2} 1"}},
		"a denial by a condition is no use of its rows": {
			stream: []metrics.CheckObservation{{Shape: metrics.ShapeCan, Decision: metrics.Deny, Permission: "docs.files.delete", ScopeType: "*",
				MatchedGrantIDs: []string{"g9"}, RoleIDs: []string{"r"}, SampleRate: 1}},
			want: []string{strings.Replace(checkDenied, "require", "can", 1) + "1"}},
		"without attribution only checks are counted": {
			options: authzotel.Options{OmitAttribution: true, OmitScopeInstances: true, Principals: true}, stream: []metrics.CheckObservation{allowed},
			want: []string{"authz.checks{decision=string:allow fresh=bool:true gate=bool:true implied=bool:false permission=string:docs.files.delete " +
				"principal=string:user:u1 scope_type=string:docs.folder shape=string:can snapshot=bool:false} 1"}},
		"own attribute names win over the caller's": {
			options: authzotel.Options{Prefix: "acme.", OmitAttribution: true, Attributes: []attribute.KeyValue{attribute.String("region", "eu"), attribute.String("shape", "mine")}},
			stream:  []metrics.CheckObservation{{Shape: metrics.ShapeHeldKeys, Decision: metrics.Allow, ScopeType: "*", ExternalPermission: true, SampleRate: 1}},
			want: []string{"acme.checks{decision=string:allow external=bool:true fresh=bool:false gate=bool:false implied=bool:false permission=string:(any) " +
				"region=string:eu scope_type=string:* shape=string:heldKeys snapshot=bool:false} 1"}},
		"callers' text is bounded": {
			options: authzotel.Options{OmitAttribution: true},
			stream:  []metrics.CheckObservation{{Shape: metrics.ShapeCanAny, Decision: metrics.Deny, Permission: strings.Repeat("x", 300), ScopeType: "a\xff", SampleRate: 1}},
			want: []string{"authz.checks{decision=string:deny fresh=bool:false gate=bool:false implied=bool:false permission=string:" + strings.Repeat("x", 256) +
				"… scope_type=string:a\uFFFD shape=string:canAny snapshot=bool:false} 1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, collect(t, c.options, c.stream...)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// recording keeps the order in which a real no-op meter's counters are added to.
type recording struct {
	noop.Meter
	created, added []string
	fail           error
}

type counter struct {
	noop.Float64Counter
	name  string
	meter *recording
}

func (m *recording) Float64Counter(name string, _ ...metric.Float64CounterOption) (metric.Float64Counter, error) {
	m.created = append(m.created, name)
	return counter{name: name, meter: m}, m.fail
}

func (c counter) Add(context.Context, float64, ...metric.AddOption) {
	c.meter.added = append(c.meter.added, c.name)
}

func TestInstrumentsAreCreatedOnceAndAddedToInOrder(t *testing.T) {
	var m recording
	observer, err := authzotel.New(authzotel.Options{Meter: &m})
	if err != nil {
		t.Fatal(err)
	}
	o := allowed
	o.MatchedRevokeIDs = []string{"rv"}
	for range 2 {
		m.added = nil
		if err := observer.Observe(o); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"authz.checks", "authz.grant.matched", "authz.grant.sole_match", "authz.revoke.matched", "authz.role.matched"}, m.added); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	if len(m.created) != 5 {
		t.Errorf("created %v", m.created)
	}
}

func TestAMeterIsNeededAndItsFailureTold(t *testing.T) {
	if _, err := authzotel.New(authzotel.Options{}); err == nil {
		t.Error("no meter was no error")
	}
	broken := errors.New("broken")
	if _, err := authzotel.New(authzotel.Options{Meter: &recording{fail: broken}}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
