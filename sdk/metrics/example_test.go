package metrics_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// printed is where windows go: a provider, in an application.
type printed struct{}

func (printed) ReportMetrics(_ context.Context, b metrics.Batch) error {
	text, err := json.Marshal(b.Grants)
	fmt.Println(string(text))
	return err
}

func Example() {
	sink, err := metrics.NewProviderSink(printed{}, metrics.ProviderSinkOptions{
		AggregatorOptions: metrics.AggregatorOptions{InstanceID: "web-3", OnError: func(err error) { log.Print(err) }},
		Interval:          time.Minute,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer sink.Stop()

	// Every gate, and one visibility question in a hundred.
	recorder, err := metrics.NewRecorder(metrics.RecorderOptions{Observers: []metrics.Observer{sink}, VisibilityRate: new(0.01)})
	if err != nil {
		log.Fatal(err)
	}

	// A client does this for every check.
	if rate := recorder.DrawGate(); rate > 0 {
		o := metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: "docs.files.read",
			Principal: authz.UserPrincipal("u1"), SampleRate: rate}
		o.ScopeType, o.Scope = recorder.ScopeOf("docs.doc:7")
		o.Attribute([]authz.Grant{{ID: "g9", Pattern: "docs.files.*"}})
		o.SoleMatchGrantID = "g9"
		recorder.Deliver(o)
	}
	// Output:
	// [{"rowId":"g9","matched":1,"soleMatch":1,"estimatedMatched":1,"estimatedSoleMatch":1,"recentPrincipals":["user:u1"]}]
}
