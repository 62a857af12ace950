package otlp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/plugins/internal/sinktest"
	"github.com/authzhost/authz/plugins/otlp/otlp"
	"github.com/authzhost/authz/plugins/otlp/otlptest"
)

// What a delta's fate is known to be after each failure; and what is not known to
// be untaken is never sent twice.
func TestADeltasFate(t *testing.T) {
	receiver := otlptest.Start(t, "", "")
	always := otlptest.Behaviour{}
	with := func(change func(*otlptest.Behaviour)) otlptest.Behaviour {
		b := always
		change(&b)
		return b
	}
	code := func(c codes.Code, times int) otlptest.Behaviour {
		return with(func(b *otlptest.Behaviour) { b.Code, b.Times = int(c), times })
	}
	status := func(s, times int) otlptest.Behaviour {
		return with(func(b *otlptest.Behaviour) { b.Status, b.Times = s, times })
	}
	for _, c := range []struct {
		name     string
		way      string
		behave   otlptest.Behaviour
		want     string
		requests int // at most, 0 any
		counted  float64
	}{
		{"takes it", "grpc", always, "taken", 1, 1},
		{"is overloaded once", "grpc", code(codes.Unavailable, 1), "taken", 2, 1},
		{"is overloaded", "grpc", code(codes.Unavailable, 0), "not_applied", 0, 0},
		{"asks to come again", "grpc", with(func(b *otlptest.Behaviour) { b.Code, b.RetryAfter, b.Times = int(codes.ResourceExhausted), 50, 1 }), "taken", 2, 1},
		{"asks to come too late", "grpc", with(func(b *otlptest.Behaviour) { b.Code, b.RetryAfter = int(codes.ResourceExhausted), 60_000 }), "not_applied", 1, 0},
		{"has no room", "grpc", code(codes.ResourceExhausted, 0), "not_applied", 1, 0},
		{"does not understand it", "grpc", code(codes.InvalidArgument, 0), "invalid", 1, 0},
		{"does not know the service", "grpc", code(codes.Unimplemented, 0), "not_applied", 1, 0},
		{"breaks", "grpc", code(codes.Internal, 0), "unknown", 1, 0},
		{"breaks and has taken it", "grpc", with(func(b *otlptest.Behaviour) { b.Code, b.Take = int(codes.DeadlineExceeded), true }), "unknown", 1, 1},
		{"is slow", "grpc", with(func(b *otlptest.Behaviour) { b.Delay = 1500 }), "unknown", 1, 1},
		{"refuses some points", "grpc", with(func(b *otlptest.Behaviour) { b.Rejected = 1 }), "taken", 1, 1},
		{"refuses all points", "grpc", with(func(b *otlptest.Behaviour) { b.Rejected = 2 }), "invalid", 1, 1},
		{"has much to say", "grpc", with(func(b *otlptest.Behaviour) { b.Says = 100 << 10 }), "unknown", 1, 1},

		{"takes it", "http", always, "taken", 1, 1},
		{"is overloaded once", "http", status(http.StatusServiceUnavailable, 1), "taken", 2, 1},
		{"is throttled", "http", status(http.StatusTooManyRequests, 0), "not_applied", 0, 0},
		{"asks to come too late", "http", with(func(b *otlptest.Behaviour) { b.Status, b.RetryAfter = http.StatusTooManyRequests, 60 }), "not_applied", 1, 0},
		{"does not understand it", "http", status(http.StatusBadRequest, 0), "invalid", 1, 0},
		{"is not found", "http", status(http.StatusNotFound, 0), "not_applied", 1, 0},
		{"is elsewhere", "http", status(http.StatusTemporaryRedirect, 0), "not_applied", 1, 0},
		{"breaks", "http", status(http.StatusInternalServerError, 0), "unknown", 1, 0},
		{"is behind a proxy that lost it", "http", with(func(b *otlptest.Behaviour) { b.Status, b.Take = http.StatusBadGateway, true }), "unknown", 1, 1},
		{"is slow", "http", with(func(b *otlptest.Behaviour) { b.Delay = 1500 }), "unknown", 1, 1},
		{"refuses some points", "http", with(func(b *otlptest.Behaviour) { b.Rejected = 1 }), "taken", 1, 1},
		{"has much to say", "http", with(func(b *otlptest.Behaviour) { b.Says = 100 << 10 }), "taken", 1, 1},
	} {
		log := &testlog.Log{}
		o := ways(receiver)[c.way]
		o.Temporality, o.Timeout, o.Headers, o.Log = otlp.TemporalityDelta, 30*time.Second, []string{"Authorization: s3cret"}, logger(log)
		if c.requests == 0 || c.behave.Delay > 0 { // it never comes to an answer
			o.Timeout = time.Second
		}
		s := mustOpen(t, o)
		receiver.Behave(c.behave)
		before := receiver.Received()
		w := window(1, 1, "a", "b")
		err := s.Write(t.Context(), w)
		for range 5 {
			if c.requests > 0 || outcome(err) != "unknown" {
				break
			}
			err = s.Write(t.Context(), w) // its time ended while it was asking once more
		}
		if outcome(err) != c.want {
			t.Errorf("%s, a receiver that %s: %v, want %s", c.way, c.name, err, c.want)
		}
		secretless(t, c.name, fmt.Sprint(err)+log.String())
		counted := func() float64 { return sums(receiver.Received())[`authz.checks"a"`] - sums(before)[`authz.checks"a"`] }
		if c.behave.Delay > 0 {
			until(t, "it is taken in the end", func() bool { return counted() == c.counted })
		}
		after := receiver.Received()
		if sent := after.Requests - before.Requests; c.requests > 0 && sent != c.requests || sent == 0 {
			t.Errorf("%s, a receiver that %s: %d requests, want %d", c.way, c.name, sent, c.requests)
		}
		if got := counted(); got != c.counted {
			t.Errorf("%s, a receiver that %s: %v counted, want %v", c.way, c.name, got, c.counted)
		}
	}
}

// A window that is refused whole is refused, also when it goes in several requests.
func TestAWindowOfSeveralRequestsThatIsRefusedWholeIsRefused(t *testing.T) {
	receiver := otlptest.Start(t, "", "")
	names := make([]string, 1000)
	for i := range names {
		names[i] = strings.Repeat("p", 200) + fmt.Sprint(i)
	}
	log := &testlog.Log{}
	o := ways(receiver)["grpc"]
	o.Temporality, o.MaxMessage, o.Timeout, o.Log = otlp.TemporalityDelta, 128<<10, time.Minute, logger(log)
	s := mustOpen(t, o)
	receiver.Behave(otlptest.Behaviour{Rejected: 1 << 40})
	if err := s.Write(t.Context(), window(1, 1, names...)); outcome(err) != "invalid" {
		t.Errorf("all refused: %v", err)
	}
	if n := receiver.Received().Requests; n < 2 {
		t.Fatalf("%d requests", n)
	}
	receiver.Behave(otlptest.Behaviour{Rejected: 1 << 40, Times: 1})
	if err := s.Write(t.Context(), window(2, 1, names...)); err != nil {
		t.Errorf("some refused: %v", err)
	}
	if said := log.String(); strings.Count(said, "refused some points") != 1 || !strings.Contains(said, "of=1000") {
		t.Errorf("the log says\n%s", said)
	}
}

func TestADeadCollectorTakesNothing(t *testing.T) {
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]otlp.Options{"grpc": {Endpoint: address, Insecure: true}, "http": {Endpoint: "http://" + address, Protocol: otlp.ProtocolHTTP}} {
		o.Temporality, o.Timeout = otlp.TemporalityDelta, 300*time.Millisecond
		if err := mustOpen(t, o).Write(t.Context(), window(1, 1, "a")); outcome(err) != "not_applied" {
			t.Errorf("%s: %v", name, err)
		}
		o.Temporality, o.Interval, o.Log = otlp.TemporalityCumulative, time.Hour, logger(&testlog.Log{})
		s := mustOpen(t, o)
		sinktest.Write(t, s, window(1, 1, "a"))
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		if err := s.Close(ctx); outcome(err) == "taken" {
			t.Errorf("%s: what was taken is lost, and nobody hears of it", name)
		}
		cancel()
	}
}

// A message that the collector refuses for good keeps no other total from it.
func TestARefusedMessageKeepsNoTotalFromTheCollector(t *testing.T) {
	receiver := otlptest.Start(t, "", "")
	names := make([]string, 1000)
	for i := range names {
		names[i] = strings.Repeat("p", 200) + fmt.Sprint(i)
	}
	for name, o := range ways(receiver) {
		o.MaxMessage, o.Interval, o.Prefix, o.Log = 128<<10, time.Hour, name+".", logger(&testlog.Log{})
		s := mustOpen(t, o)
		sinktest.Write(t, s, window(1, 1, names...))
		receiver.Behave(otlptest.Behaviour{Code: int(codes.InvalidArgument), Status: http.StatusBadRequest, Times: 1})
		before := receiver.Received().Requests
		if err := s.Close(t.Context()); outcome(err) == "taken" {
			t.Errorf("%s: what was refused is lost, and nobody hears of it", name)
		}
		requests, got := receiver.Received().Requests-before, 0
		for _, series := range receiver.Received().Series {
			if series.Name == name+".checks" {
				got++
			}
		}
		if requests < 3 || got == 0 || got >= len(names) {
			t.Errorf("%s: %d requests told %d of %d series", name, requests, got, len(names))
		}
	}
}

// Close ends with its context, and no export goes on behind it.
func TestCloseEndsTheExportsUnderWay(t *testing.T) {
	receiver := otlptest.Start(t, "", "")
	for name, o := range ways(receiver) {
		o.Temporality, o.Timeout = otlp.TemporalityDelta, time.Hour
		s := mustOpen(t, o)
		before := receiver.Received().Requests
		receiver.Behave(otlptest.Behaviour{Delay: 600_000})
		written := make(chan error, 1)
		go func() { written <- s.Write(t.Context(), window(1, 1, "a")) }()
		until(t, "the export is under way", func() bool { return receiver.Received().Requests > before })
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := s.Close(short); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		select {
		case err := <-written:
			if outcome(err) != "unknown" {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: an export goes on after Close", name)
		}
	}
}

// Totals get there in the end, once, whatever happened meanwhile.
func TestCumulativeTotalsOutliveFailures(t *testing.T) {
	for _, b := range []otlptest.Behaviour{
		{Code: int(codes.Unavailable), Status: 503}, {Code: int(codes.Internal), Status: 500, Take: true}, {Code: int(codes.InvalidArgument), Status: 400}, {Delay: 1000}, {Rejected: 1},
	} {
		receiver := otlptest.Start(t, "", "")
		for name, o := range ways(receiver) {
			log := &testlog.Log{}
			o.Interval, o.Headers, o.Log, o.Prefix = 100*time.Millisecond, []string{"Authorization: s3cret"}, logger(log), name+"."
			if b.Delay > 0 {
				o.Timeout = time.Duration(b.Delay) * time.Millisecond / 2
			}
			receiver.Behave(b)
			s := mustOpen(t, o)
			sinktest.Write(t, s, window(1, 1, "a"))
			until(t, "a failure is logged", func() bool { return len(log.String()) > 0 })
			sinktest.Write(t, s, window(2, 1, "a"))
			receiver.Behave(otlptest.Behaviour{})
			sinktest.Write(t, s, window(3, 1, "a"))
			until(t, "the totals are there", func() bool { return sums(receiver.Received())[name+`.checks"a"`] == 3 })
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			secretless(t, name, log.String())
		}
	}
}
