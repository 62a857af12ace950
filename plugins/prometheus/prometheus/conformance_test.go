package prometheus_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/plugins/prometheus/prometheus"
	"github.com/authzhost/authz/sdk/metrics"
)

// scraped is a backend whose counts are those that a scrape answers.
type scraped struct {
	dir string

	mu   sync.Mutex
	open *prometheus.Sink
}

func (b *scraped) Connect(context.Context) (metrics.Sink, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := prometheus.Open(prometheus.Options{Listen: "127.0.0.1:0", StateDir: b.dir, MaxSeries: 100_000})
	b.open = s
	return s, err
}

func (b *scraped) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if b.open != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err = b.open.Close(ctx)
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

func (b *scraped) Counts(ctx context.Context) (map[sink.Key]float64, error) {
	b.mu.Lock()
	address := b.open.Addr()
	b.mu.Unlock()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, err
	}
	counts := map[sink.Key]float64{}
	for _, m := range families["authz_checks_total"].GetMetric() {
		counts[sink.Key{Application: value(m, "application"), Permission: value(m, "permission"), Decision: metrics.Decision(value(m, "decision"))}] += m.GetCounter().GetValue()
	}
	return counts, nil
}

func value(m *dto.Metric, label string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == label {
			return l.GetValue()
		}
	}
	return ""
}

func TestConformance(t *testing.T) {
	for name, durable := range map[string]bool{"durable": true, "in memory": false} {
		t.Run(name, func(t *testing.T) {
			sink.Run(t, sink.Target{Name: "prometheus", New: func(context.Context) (sink.Backend, error) {
				if !durable {
					return &scraped{}, nil
				}
				dir, err := os.MkdirTemp("", "authz-prometheus")
				return &scraped{dir: dir}, err
			}})
		})
	}
}
