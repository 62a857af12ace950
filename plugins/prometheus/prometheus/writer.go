package prometheus

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/authzhost/authz/plugins/internal/outbound"
	"github.com/authzhost/authz/plugins/internal/totals"
)

const (
	maxRequestSeries = 2_000
	maxAnswer        = 64 << 10 // of what is read, so that a connection can be used again
)

// writer sends all counters by remote-write 1.0. One goroutine uses it.
type writer struct {
	sink    *Sink
	client  *http.Client
	headers http.Header
	last    int64 // the instant of the newest samples, epoch milliseconds

	// begun are the series whose zero at their start was written, with that start:
	// a rate needs it to see what the first window counted.
	begun   map[totals.Key]int64
	failing bool
}

func newWriter(s *Sink) (*writer, error) {
	tls, err := outbound.TLS(s.options.WriteCA)
	if err != nil {
		return nil, wrong(settingWriteCA, "%s", err)
	}
	headers, err := s.options.headers()
	if err != nil {
		return nil, wrong(settingWriteHeaders, "%s", err)
	}
	headers.Set("Content-Type", "application/x-protobuf")
	headers.Set("Content-Encoding", "snappy")
	headers.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	if headers.Get("User-Agent") == "" {
		headers.Set("User-Agent", "authz-plugin-prometheus")
	}
	return &writer{sink: s, headers: headers, begun: map[totals.Key]int64{},
		client: &http.Client{
			Transport: &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true, MaxIdleConns: 2, IdleConnTimeout: 2 * time.Minute,
				TLSHandshakeTimeout: 10 * time.Second},
			// Credentials are for the URL that was configured.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}, nil
}

// skipKnown leaves out the zeros of series from a life before: samples since are
// with the server, and nothing may be written before those.
func (w *writer) skipKnown(series []totals.Series) {
	for _, s := range series {
		w.begun[s.Key] = s.Started
	}
}

// write sends the newest totals. Its failures say nothing that the other side said.
func (w *writer) write(ctx context.Context) error {
	series := w.sink.table.Series()
	if len(w.begun) > 2*len(series)+maxRequestSeries { // some were forgotten
		known := map[totals.Key]int64{}
		for _, s := range series {
			if started, ok := w.begun[s.Key]; ok {
				known[s.Key] = started
			}
		}
		w.begun = known
	}
	w.last = max(w.last+1, w.sink.options.Clock().UnixMilli())
	failures := appendSeries(nil, w.labels(w.sink.options.Prefix+writeFailures, nil, nil), sample{float64(w.sink.failures.Load()), w.last})
	if err := w.post(ctx, failures); err != nil {
		return err
	}
	var refused error // of a chunk, which keeps no other from the server
	for chunk := range slices.Chunk(series, maxRequestSeries) {
		err := w.post(ctx, w.request(chunk, true))
		if errors.Is(err, errRefused) && w.unbegun(chunk) {
			// A zero may be older than what the server takes; the totals are not.
			err = w.post(ctx, w.request(chunk, false))
		}
		if errors.Is(err, errRefused) {
			refused = err
			continue
		}
		if err != nil {
			return err
		}
		for _, s := range chunk {
			w.begun[s.Key] = s.Started
		}
	}
	return refused
}

// begins reports whether the series' zero is still to be written.
func (w *writer) begins(s totals.Series) bool {
	started, ok := w.begun[s.Key]
	return !ok || started != s.Started
}

func (w *writer) unbegun(chunk []totals.Series) bool { return slices.ContainsFunc(chunk, w.begins) }

func (w *writer) request(chunk []totals.Series, zeros bool) []byte {
	var request []byte
	for _, s := range chunk {
		labels := w.labels(w.sink.names[s.Instrument], s.Instrument.Labels(), s.Values())
		samples := []sample{{s.Total, w.last}}
		if zeros && w.begins(s) {
			samples = []sample{{0, min(s.Started, w.last-1)}, {s.Total, w.last}} // one sample an instant
		}
		request = appendSeries(request, labels, samples...)
	}
	return request
}

// labels are sorted and without those that are empty, as the protocol wants them.
func (w *writer) labels(metric string, names, values []string) []label {
	all := append(make([]label, 0, len(names)+len(w.sink.labels)+1), label{"__name__", metric})
	for i, name := range names {
		if values[i] != "" {
			all = append(all, label{name, values[i]})
		}
	}
	all = append(all, w.sink.labels...)
	slices.SortFunc(all, func(a, b label) int { return cmp.Compare(a.name, b.name) })
	return all
}

// errRefused is a request that would be refused again.
var errRefused = errors.New("the server refused")

func (w *writer) post(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.sink.options.WriteURL, bytes.NewReader(snappy.Encode(nil, body)))
	if err != nil {
		return errors.New("the request cannot be made")
	}
	request.Header = w.headers.Clone()
	response, err := w.client.Do(request)
	if err != nil {
		var described *url.Error
		if errors.As(err, &described) {
			err = described.Err // without the URL
		}
		return &outbound.Retry{Err: fmt.Errorf("the server was not reached: %w", err)}
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	switch code := response.StatusCode; {
	case code/100 == 2:
		return nil
	case code == http.StatusTooManyRequests || code/100 == 5:
		return &outbound.Retry{Err: fmt.Errorf("the server answered with status %d", code), After: retryAfter(response.Header.Get("Retry-After"))}
	default:
		return fmt.Errorf("%w: status %d", errRefused, code)
	}
}

// retryAfter reads seconds; a date is left to the loop's own pauses.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.ParseUint(header, 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// told counts failures, and logs the first of several.
func (w *writer) told(err error) {
	if err != nil {
		w.sink.failures.Add(1)
		if !w.failing {
			w.sink.options.Log.Warn("counters could not be written; the newest are tried again", "error", err)
		}
	} else if w.failing {
		w.sink.options.Log.Info("counters are written again")
	}
	w.failing = err != nil
}
