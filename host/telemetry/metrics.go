package telemetry

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/authzhost/authz/host/api"
	observer "github.com/authzhost/authz/sdk/metrics/prometheus"
)

// Metrics are the instruments of one host. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	storage  *prometheus.HistogramVec
	checks   map[string]*observer.Observer

	// seen holds the children of requests by what is compared cheaply.
	seen sync.Map // requestKey → request
}

type requestKey struct {
	app, op string
	status  int
}

type request struct {
	count   prometheus.Counter
	latency prometheus.Observer
}

// Buckets of latencies, in seconds: a warm check takes microseconds, an operation
// may take half a minute.
var (
	requestBuckets = []float64{.000025, .0001, .00025, .001, .0025, .01, .025, .1, .25, 1, 2.5, 10, 30}
	storageBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 30}
)

// NewMetrics builds the instruments. apps are the applications that are served.
func NewMetrics(version string, apps []string, facts func() Facts) (*Metrics, error) {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authz_http_requests_total",
			Help: "Requests answered on listen and the administration socket."}, []string{"app", "op", "status"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "authz_http_request_duration_seconds",
			Help: "Time from a request's header to the end of its answer.", Buckets: requestBuckets}, []string{"app", "op"}),
		storage: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "authz_storage_call_duration_seconds",
			Help: "Time of one call of a storage driver, seen from the host.", Buckets: storageBuckets}, []string{"app", "call", "outcome"}),
		checks: map[string]*observer.Observer{},
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "authz_build_info", Help: "1, with the version of the host.",
		ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	all := []prometheus.Collector{m.requests, m.latency, m.storage, build, collector{facts},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
	for _, app := range apps {
		o, err := observer.New(observer.Options{ConstLabels: prometheus.Labels{"app": app}, OmitScopeInstances: true, OmitAttribution: true})
		if err != nil {
			return nil, err
		}
		m.checks[app] = o
		all = append(all, o)
	}
	for _, c := range all {
		if err := m.registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Handler serves the exposition.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, MaxRequestsInFlight: 4})
}

// Checks observes the checks of an application's client.
func (m *Metrics) Checks(app string) *observer.Observer { return m.checks[app] }

// Storage hears of the calls of an application's driver.
func (m *Metrics) Storage(app string) func(call, outcome string, took time.Duration) {
	return func(call, outcome string, took time.Duration) {
		m.storage.WithLabelValues(app, call, outcome).Observe(took.Seconds())
	}
}

// statusAborted is the status of an answer that was broken off.
const statusAborted = "aborted"

// Answered counts a request.
func (m *Metrics) Answered(a *api.Answered) {
	key := requestKey{a.Application, a.Operation, a.Status}
	if a.Aborted {
		key.status = -1
	}
	known, ok := m.seen.Load(key)
	if !ok {
		status := statusAborted
		if key.status >= 0 {
			status = strconv.Itoa(key.status)
		}
		known, _ = m.seen.LoadOrStore(key, request{m.requests.WithLabelValues(key.app, key.op, status), m.latency.WithLabelValues(key.app, key.op)})
	}
	r := known.(request)
	r.count.Inc()
	r.latency.Observe(a.Took.Seconds())
}
