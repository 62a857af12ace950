package authzprometheus_test

import (
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	authzprometheus "github.com/authzhost/authz/contrib/prometheus"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

func Example() {
	observer, err := authzprometheus.New(authzprometheus.Options{})
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry() // served by promhttp
	registry.MustRegister(observer)
	recorder, err := metrics.NewRecorder(metrics.RecorderOptions{Observers: []metrics.Observer{observer}})
	if err != nil {
		log.Fatal(err)
	}

	// A client does this for every check that it keeps.
	recorder.Deliver(metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: "docs.files.read",
		ScopeType: "docs.doc", Principal: authz.UserPrincipal("u1"), MatchedGrantIDs: []string{"g9"}, SoleMatchGrantID: "g9", SampleRate: 0.1})

	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		fmt.Println(f.GetName(), f.Metric[0].Counter.GetValue())
	}
	// Output:
	// authz_checks_total 10
	// authz_dropped_total 0
	// authz_grant_matched_total 10
	// authz_grant_sole_match_total 10
}
