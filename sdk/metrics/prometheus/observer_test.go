package authzprometheus_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	authzprometheus "github.com/authzhost/authz/sdk/metrics/prometheus"
)

func newObserver(t *testing.T, o authzprometheus.Options) *authzprometheus.Observer {
	t.Helper()
	x, err := authzprometheus.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

var allowed = metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: "docs.files.delete",
	ScopeType: "docs.folder", Scope: "docs.folder:1", Principal: authz.UserPrincipal("u1"),
	MatchedGrantIDs: []string{"g9"}, SoleMatchGrantID: "g9", RoleIDs: []string{"r_editor"}, Fresh: true, SampleRate: 1}

var denied = metrics.CheckObservation{Shape: metrics.ShapeRequire, Decision: metrics.Deny, Permission: "docs.files.delete",
	ScopeType: "*", Principal: authz.ServicePrincipal("s1"), MatchedRevokeIDs: []string{"rv1", "rv2"}, SampleRate: 0.25}

const (
	checkAllowed = `authz_checks_total{decision="allow",external="",fresh="true",gate="true",implied="false",permission="docs.files.delete",` +
		`scope="docs.folder:1",scope_type="docs.folder",shape="can",snapshot="false"} `
	checkDenied = `authz_checks_total{decision="deny",external="",fresh="false",gate="true",implied="false",permission="docs.files.delete",` +
		`scope="",scope_type="*",shape="require",snapshot="false"} `
)

func TestSeries(t *testing.T) {
	cases := map[string]struct {
		options authzprometheus.Options
		stream  []metrics.CheckObservation
		want    map[string]string // a counter's name to its series
	}{
		"an allow counts the check, its grants, the sole one and their roles": {
			stream: []metrics.CheckObservation{allowed, allowed},
			want: map[string]string{"authz_checks_total": checkAllowed + "2", "authz_grant_matched_total": `authz_grant_matched_total{grant_id="g9"} 2`,
				"authz_grant_sole_match_total": `authz_grant_sole_match_total{gate="true",grant_id="g9"} 2`,
				"authz_role_matched_total":     `authz_role_matched_total{role_id="r_editor"} 2`,
				"authz_revoke_matched_total":   "", "authz_dropped_total": "authz_dropped_total 0"}},
		"a denial counts what it stands for, and its revokes": {
			stream: []metrics.CheckObservation{denied},
			want: map[string]string{"authz_checks_total": checkDenied + "4", "authz_grant_matched_total": "", "authz_role_matched_total": "",
				"authz_revoke_matched_total": "authz_revoke_matched_total{revoke_id=\"rv1\"} 4\nauthz_revoke_matched_total{revoke_id=\"rv2\"} 4"}},
		"or only what was sampled": {
			options: authzprometheus.Options{CountSampledOnly: true}, stream: []metrics.CheckObservation{denied},
			want: map[string]string{"authz_checks_total": checkDenied + "1"}},
		"a denial by a condition is no use of its rows": {
			stream: []metrics.CheckObservation{{Shape: metrics.ShapeRequire, Decision: metrics.Deny, Permission: "docs.files.delete", ScopeType: "*",
				MatchedGrantIDs: []string{"g9"}, RoleIDs: []string{"r"}, SampleRate: 1}},
			want: map[string]string{"authz_checks_total": checkDenied + "1", "authz_grant_matched_total": "", "authz_role_matched_total": ""}},
		"labels, names and attribution are the operator's choice": {
			options: authzprometheus.Options{Prefix: "acme_", OmitAttribution: true, OmitScopeInstances: true, Principals: true, ConstLabels: prometheus.Labels{"region": "eu"}},
			stream: []metrics.CheckObservation{{Shape: metrics.ShapeHeldKeys, Decision: metrics.Allow, ScopeType: "*", Scope: "x:1",
				Principal: authz.UserPrincipal("u1"), MatchedGrantIDs: []string{"g"}, ExternalPermission: true, SampleRate: 1}},
			want: map[string]string{"acme_checks_total": `acme_checks_total{decision="allow",external="true",fresh="false",gate="false",implied="false",` +
				`permission="(any)",principal="user:u1",region="eu",scope_type="*",shape="heldKeys",snapshot="false"} 1`, "acme_grant_matched_total": ""}},
		"callers' text is bounded and valid": {
			options: authzprometheus.Options{OmitScopeInstances: true},
			stream:  []metrics.CheckObservation{{Shape: metrics.ShapeCanAny, Decision: metrics.Deny, Permission: strings.Repeat("x", 300), ScopeType: "a\xff", SampleRate: 1}},
			want: map[string]string{"authz_checks_total": `authz_checks_total{decision="deny",external="",fresh="false",gate="false",implied="false",permission="` +
				strings.Repeat("x", 256) + "…\",scope_type=\"a\uFFFD\",shape=\"canAny\",snapshot=\"false\"} 1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			x := newObserver(t, c.options)
			for _, o := range c.stream {
				if err := x.Observe(o); err != nil {
					t.Fatal(err)
				}
			}
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(x)
			helps := helpOf(t, registry)
			for counter, series := range c.want {
				expected := ""
				if series != "" {
					expected = "# HELP " + counter + " " + helps[counter] + "\n# TYPE " + counter + " counter\n" + series + "\n"
				} else if _, ok := helps[counter]; ok {
					t.Errorf("%s has series", counter)
				}
				if err := testutil.GatherAndCompare(registry, strings.NewReader(expected), counter); err != nil {
					t.Error(err)
				}
			}
			problems, err := testutil.GatherAndLint(registry)
			if err != nil || len(problems) > 0 {
				t.Errorf("%v: %v", err, problems)
			}
		})
	}
}

func helpOf(t *testing.T, g prometheus.Gatherer) map[string]string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	helps := map[string]string{}
	for _, f := range families {
		helps[f.GetName()] = f.GetHelp()
	}
	return helps
}

func TestACounterHoldsNoMoreSeriesThanItsBoundAndHidesNothing(t *testing.T) {
	x := newObserver(t, authzprometheus.Options{MaxSeries: 3})
	var work sync.WaitGroup
	const writers, each = 4, 200
	for range writers {
		work.Go(func() {
			for i := range each {
				o := metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: fmt.Sprintf("a.k%d", i%10), ScopeType: "*", SampleRate: 1}
				if err := x.Observe(o); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	registry := prometheus.NewRegistry()
	registry.MustRegister(x)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series, total := 0, 0.0
	for _, f := range families {
		for _, m := range f.Metric {
			total += m.Counter.GetValue()
			if f.GetName() == "authz_checks_total" {
				series++
			}
		}
	}
	if series != 3 || total != writers*each {
		t.Errorf("%d series, %v of %d checks counted or dropped", series, total, writers*each)
	}
}

func TestBadOptionsAreRefusedWhereTheyAreGiven(t *testing.T) {
	for name, o := range map[string]authzprometheus.Options{
		"a negative bound":                     {MaxSeries: -1},
		"a label of the observer's own":        {ConstLabels: prometheus.Labels{"shape": "mine"}},
		"a label of one of its other counters": {ConstLabels: prometheus.Labels{"role_id": "mine"}},
		"a label that no series may have":      {ConstLabels: prometheus.Labels{"__name": "mine"}},
	} {
		if x, err := authzprometheus.New(o); err == nil || x != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
