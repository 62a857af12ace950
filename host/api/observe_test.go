package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestARequestIDIsTakenOverWhenItIsSane(t *testing.T) {
	long := strings.Repeat("x", maxRequestID)
	for sent, kept := range map[string]bool{"a": true, "7f2-A_b.c:d+e/f=@": true, long: true, long + "x": false,
		"": false, "two words": false, "semi;colon": false, "quote\"": false, "ü": false, "tab\t": false, "nul\x00": false, "<b>": false} {
		got := requestID(http.Header{RequestIDHeader: {sent}})
		if (got == sent) != kept {
			t.Errorf("%q became %q", sent, got)
		}
		if !saneRequestID(got) {
			t.Errorf("%q was made, which is not sane itself", got)
		}
	}
	if got := requestID(http.Header{RequestIDHeader: {"a", "b"}}); len(got) != 32 {
		t.Errorf("of two ids %q was taken", got)
	}
	if a, b := requestID(http.Header{}), requestID(http.Header{}); a == b {
		t.Errorf("two requests have the id %s", a)
	}
}

// The hosted API takes no id over, and the access log has the one that it answers.
func TestTheHostedAPIsRequestsHaveOneIDMadeHere(t *testing.T) {
	var told, answered string
	h := NewObserved(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answered = w.Header().Get(RequestIDHeader) }),
		ObserveOptions{Done: func(a *Answered) { told = a.RequestID }})
	r := httptest.NewRequest("GET", "/api/v1/orgs", nil)
	r.Header.Set(RequestIDHeader, "chosen")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if told == "" || told == "chosen" || told != answered {
		t.Errorf("the log has %q, the answer %q", told, answered)
	}
}

func TestWhatIsToldOfARequest(t *testing.T) {
	var told []Answered
	serveOne := func(handle http.HandlerFunc) {
		h := NewObserved(handle, ObserveOptions{Done: func(a *Answered) { told = append(told, *a) }})
		r := httptest.NewRequest("POST", "/v1/x?secret=1", nil)
		defer func() { _ = recover() }() // what breaks the connection off
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	serveOne(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("12"))
		_, _ = w.Write([]byte("345"))
		(&exchange{w: w, r: r}).name("docs", "check")
	})
	serveOne(func(http.ResponseWriter, *http.Request) {})
	serveOne(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	serveOne(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("1"))
		panic(http.ErrAbortHandler)
	})
	want := []struct {
		status  int
		bytes   int64
		aborted bool
		op      string
	}{{http.StatusTeapot, 5, false, "check"}, {200, 0, false, ""}, {0, 0, true, ""}, {200, 1, true, ""}}
	if len(told) != len(want) {
		t.Fatalf("%d requests were told of, not %d", len(told), len(want))
	}
	for i, a := range told {
		if a.Status != want[i].status || a.Bytes != want[i].bytes || a.Aborted != want[i].aborted || a.Operation != want[i].op {
			t.Errorf("%d: %+v, want %+v", i, a, want[i])
		}
		if a.Path != "/v1/x" || a.Method != "POST" || a.RequestID == "" {
			t.Errorf("%d: %+v", i, a)
		}
	}
}
