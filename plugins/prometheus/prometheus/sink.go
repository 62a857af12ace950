package prometheus

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/plugins/internal/outbound"
	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// Sink is an open sink. It is safe for concurrent use.
type Sink struct {
	options  Options
	labels   []label
	names    map[totals.Instrument]string
	table    *totals.Table
	endpoint *endpoint      // nil: nothing listens
	writing  *outbound.Loop // nil: nothing is written

	scraped  atomic.Uint64 // windows that some scrape has told
	failures atomic.Uint64 // of remote-write

	close  sync.Once
	closed error
}

var _ metrics.Sink = (*Sink)(nil)

// Open reads the state, listens and begins to write, as the options say. Its errors
// are *plugin.ConfigError.
func Open(o Options) (*Sink, error) {
	s, w, err := prepare(o)
	if err != nil {
		return nil, err
	}
	o = s.options
	s.table, err = totals.Open(totals.Options{Dir: o.StateDir, MaxSeries: o.MaxSeries, OmitRows: o.OmitAttribution, Clock: o.Clock, Log: o.Log})
	if err != nil {
		return nil, wrong(settingStateDir, "%s", err)
	}
	if o.Listen != "" {
		if s.endpoint, err = openEndpoint(s); err != nil {
			_ = s.table.Close(context.Background())
			return nil, err
		}
	}
	if w != nil {
		w.skipKnown(s.table.Series())
		s.writing = outbound.Start(o.WriteInterval, o.WriteTimeout, w.write, w.told)
	}
	return s, nil
}

// prepare makes of the options what reads at most files of certificates. The writer
// is nil when nothing is written.
func prepare(o Options) (s *Sink, w *writer, err error) {
	if o, err = o.filled(); err != nil {
		return nil, nil, err
	}
	s = &Sink{options: o, names: metricNames(o.Prefix)}
	if s.labels, err = o.labels(); err != nil {
		return nil, nil, err
	}
	if o.WriteURL != "" {
		w, err = newWriter(s)
	}
	return s, w, err
}

// Info implements metrics.Sink.
func (s *Sink) Info() metrics.SinkInfo {
	info := metrics.SinkInfo{Name: name}
	if s.table.Durable() {
		info.Capabilities = []metrics.SinkCapability{metrics.SinkRecognises}
	}
	return info
}

// Addr is where the endpoint listens, "" when none does.
func (s *Sink) Addr() string {
	if s.endpoint == nil {
		return ""
	}
	return s.endpoint.listener.Addr().String()
}

// Write implements metrics.Sink.
func (s *Sink) Write(ctx context.Context, w metrics.Window) error { return s.table.Write(ctx, w) }

// Close implements metrics.Sink. Windows are taken no more; what was taken is
// written once more, and waits for a scrape as long as was configured. An endpoint
// that nobody scraped in time is no error.
func (s *Sink) Close(ctx context.Context) error {
	s.close.Do(func() { s.closed = s.end(ctx) })
	return s.closed
}

func (s *Sink) end(ctx context.Context) error {
	err := s.table.Close(ctx)
	if s.writing != nil {
		if failed := s.writing.Close(ctx); failed != nil {
			err = errors.Join(err, &authz.UnavailableError{Message: "the last counts could not be written: " + failed.Error(), Outcome: authz.OutcomeUnknown})
		}
	}
	if s.endpoint != nil {
		s.awaitScrape(ctx)
		s.endpoint.close(ctx)
	}
	return err
}

// awaitScrape waits until all that was taken was scraped.
func (s *Sink) awaitScrape(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.options.FinalScrape)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); s.scraped.Load() < s.table.Taken(); {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}
