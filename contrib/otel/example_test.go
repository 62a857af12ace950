package authzotel_test

import (
	"context"
	"fmt"
	"log"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	authzotel "github.com/authzhost/authz/contrib/otel"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

func Example() {
	reader := sdkmetric.NewManualReader() // in production a periodic reader with an exporter
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	observer, err := authzotel.New(authzotel.Options{Meter: provider.Meter("docs")})
	if err != nil {
		log.Fatal(err)
	}
	recorder, err := metrics.NewRecorder(metrics.RecorderOptions{Observers: []metrics.Observer{observer}})
	if err != nil {
		log.Fatal(err)
	}

	// A client does this for every check that it keeps.
	recorder.Deliver(metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: "docs.files.read",
		ScopeType: "docs.doc", Principal: authz.UserPrincipal("u1"), MatchedGrantIDs: []string{"g9"}, SoleMatchGrantID: "g9", SampleRate: 0.1})

	var read metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &read); err != nil {
		log.Fatal(err)
	}
	for _, m := range read.ScopeMetrics[0].Metrics {
		fmt.Println(m.Name, m.Data.(metricdata.Sum[float64]).DataPoints[0].Value)
	}
	// Output:
	// authz.checks 10
	// authz.grant.matched 10
	// authz.grant.sole_match 10
}
