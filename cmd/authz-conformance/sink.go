package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/sdk/metrics"
)

// sinkBackend is where the sinks of one case run.
type sinkBackend struct{ *ground }

// sinkConnection is a sink over a process.
type sinkConnection struct {
	metrics.Sink
	process *process
}

// What a case's backend offers depends on the command line: the interfaces of the
// conformance package are told apart by type.
type (
	countingSinks struct {
		sinkBackend
		counter
	}
	stallingSinks struct {
		sinkBackend
		staller
	}
	bothSinks struct {
		sinkBackend
		counter
		staller
	}
)

// staller is the part of a relay that a sink's case uses.
type staller struct{ relay *relay }

func (s staller) Stall() error  { return s.relay.Stall() }
func (s staller) Resume() error { return s.relay.Resume() }

// sinks makes the backend of a case.
func (l *launcher) sinks(context.Context) (sink.Backend, error) {
	g, err := l.ground()
	if err != nil {
		return nil, err
	}
	b, c, s := sinkBackend{g}, counter{l.counts, g.fill}, staller{g.relay}
	switch {
	case l.counts.url != "" && g.relay != nil:
		return bothSinks{b, c, s}, nil
	case l.counts.url != "":
		return countingSinks{b, c}, nil
	case g.relay != nil:
		return stallingSinks{b, s}, nil
	}
	return b, nil
}

func (b sinkBackend) Connect(ctx context.Context) (metrics.Sink, error) {
	return b.serve(ctx, b.config)
}

// Configure ends the processes before: they may hold what a configuration names.
func (b sinkBackend) Configure(ctx context.Context, config map[string]any) (metrics.Sink, error) {
	b.endAll()
	return b.serve(ctx, config)
}

func (b sinkBackend) serve(ctx context.Context, config map[string]any) (metrics.Sink, error) {
	p, err := b.launch(ctx, config)
	if err != nil {
		return nil, err
	}
	s, err := p.plugin.Sink()
	if err != nil {
		p.end()
		return nil, err
	}
	return &sinkConnection{s, p}, nil
}

func (sinkBackend) Kill(s metrics.Sink) error     { return signalTo(s, syscall.SIGKILL) }
func (sinkBackend) Stop(s metrics.Sink) error     { return signalTo(s, syscall.SIGSTOP) }
func (sinkBackend) Continue(s metrics.Sink) error { return signalTo(s, syscall.SIGCONT) }

// Weigh reads the memory that the process has in RAM.
func (sinkBackend) Weigh(s metrics.Sink) (int64, error) {
	p, err := processOf(s)
	if err != nil {
		return 0, err
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0, errors.New("statm has no resident size")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// counts says where the target system's counters are read.
type counts struct {
	url    string // with placeholders; "" is nowhere
	metric string
}

// counter reads the counters of a case's target system.
type counter struct {
	counts
	fill func(string) string
}

// defaultMetric is the counter of checks as the sinks of this project name it.
const defaultMetric = "authz_checks_total"

// countsTimeout bounds one reading of the counters.
const countsTimeout = 5 * time.Second

// Counts adds up the metric's samples by their labels application, permission and
// decision.
func (c counter) Counts(ctx context.Context) (map[sink.Key]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, countsTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.fill(c.url), nil)
	if err != nil {
		return nil, errors.New("--counts-url is no URL")
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the counts' address answers %s", answer.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, errors.New("the counts' address answers no Prometheus text")
	}
	all := map[sink.Key]float64{}
	for _, m := range families[c.metric].GetMetric() {
		all[keyOf(m)] += valueOf(m)
	}
	return all, nil
}

func keyOf(m *dto.Metric) (key sink.Key) {
	for _, l := range m.GetLabel() {
		switch l.GetName() {
		case "application":
			key.Application = l.GetValue()
		case "permission":
			key.Permission = l.GetValue()
		case "decision":
			key.Decision = metrics.Decision(l.GetValue())
		}
	}
	return key
}

func valueOf(m *dto.Metric) float64 {
	if m.GetCounter() != nil {
		return m.GetCounter().GetValue()
	}
	return m.GetUntyped().GetValue() + m.GetGauge().GetValue()
}
