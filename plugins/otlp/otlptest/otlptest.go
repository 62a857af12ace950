// Package otlptest gives tests a receiver of OTLP metrics in a process of its own,
// built from the module testserver: gRPC by the published service, HTTP, TLS, and
// told how to behave. It ends with the test.
//
// The package is for tests and holds nothing that the product uses.
package otlptest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/internal/testprocess"
)

// Receiver is a running receiver.
type Receiver struct {
	GRPC, HTTP string // host:port

	control string
	t       testing.TB
	start   func() (*testprocess.Process, error)
	process *testprocess.Process // nil: none runs
}

// Stop ends the receiver before the test does.
func (r *Receiver) Stop() {
	if r.process != nil {
		_ = r.process.Stop()
		r.process = nil
	}
}

// Kill ends the receiver's process at once, as a crash does. Again starts another,
// where a lasting one was.
func (r *Receiver) Kill() {
	r.t.Helper()
	if err := r.process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	r.process = nil
}

// Behaviour is what the receiver does with Times requests, 0 all.
type Behaviour struct {
	Times      int
	Code       int   // of gRPC, 0 answers
	Status     int   // of HTTP, 0 answers
	RetryAfter int   // milliseconds over gRPC, seconds over HTTP
	Delay      int   // milliseconds before anything
	Take       bool  // take what is then refused all the same
	Rejected   int64 // points, said of what was taken
	Says       int   // bytes of text, said of what was taken
	Token      string
}

// Series is what the receiver was given of one. Values of attributes are JSON. A
// delta's Value is the sum, a cumulative one's the last, and Fell how often it was
// below the one before.
type Series struct {
	Name        string
	Attributes  map[string]string
	Resource    map[string]string
	Value       float64
	Temporality string
	Monotonic   bool
	Unit        string
	Start, Time uint64
	Fell        int
}

// Received is all that came, Headers those of the last request, Largest the bytes of
// the largest.
type Received struct {
	Series   []Series
	Requests int
	Largest  int
	Headers  map[string][]string
}

// Start runs a receiver until the test ends, with TLS when there is a certificate.
// Where it cannot be built the test is skipped.
func Start(t testing.TB, certificate, key string) *Receiver {
	t.Helper()
	return run(t, "-certificate", certificate, "-key", key)
}

// StartLasting runs a receiver whose next process is at the same addresses and knows
// all that it took.
func StartLasting(t testing.TB) *Receiver {
	t.Helper()
	args := []string{"-journal", filepath.Join(t.TempDir(), "taken")}
	for _, protocol := range []string{"-grpc", "-http"} {
		address, err := freeport.Address()
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, protocol, address)
	}
	return run(t, args...)
}

func run(t testing.TB, args ...string) *Receiver {
	t.Helper()
	binary, err := testprocess.Build("plugins/otlp/testserver")
	if err != nil {
		t.Skipf("NOT PROVED HERE: the receiver of OTLP cannot be built: %v", err)
	}
	r := &Receiver{t: t, start: func() (*testprocess.Process, error) { return testprocess.Start(binary, args...) }}
	t.Cleanup(r.Stop)
	r.Again()
	return r
}

// Again starts a process in the place of the one that was killed.
func (r *Receiver) Again() {
	r.t.Helper()
	p, err := r.start()
	if err != nil {
		r.t.Fatal(err)
	}
	r.process = p
	var where struct{ GRPC, HTTP, Control string }
	if err := json.Unmarshal([]byte(p.Line), &where); err != nil {
		r.t.Fatal(err)
	}
	r.GRPC, r.HTTP, r.control = where.GRPC, where.HTTP, "http://"+where.Control
}

// Behave tells the receiver what to do.
func (r *Receiver) Behave(b Behaviour) {
	r.t.Helper()
	body, err := json.Marshal(b)
	if err != nil {
		r.t.Fatal(err)
	}
	response, err := http.Post(r.control+"/behave", "application/json", bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		r.t.Fatal(response.Status)
	}
}

// Received asks for what came.
func (r *Receiver) Received() Received {
	r.t.Helper()
	response, err := http.Get(r.control + "/received")
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	var all Received
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		r.t.Fatal(err)
	}
	return all
}
