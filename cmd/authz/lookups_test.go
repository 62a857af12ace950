package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A list of several pages is printed whole. One that ends in the middle is printed as far
// as it came, and is an error.
func TestALookupIsWholeOrSaysSo(t *testing.T) {
	s := newConsole(t)
	var grants strings.Builder
	grants.WriteString("grants:\n")
	for i := range 1001 {
		fmt.Fprintf(&grants, "  - {subject: \"user:u%04d\", pattern: docs.files.read}\n", i)
		if i == 499 {
			s.do("grant", "create", "-f", s.write("grants.yaml", grants.String()))
			grants.Reset()
			grants.WriteString("grants:\n")
		}
	}
	s.do("grant", "create", "-f", s.write("grants.yaml", grants.String()))
	lines := func(out string) int {
		return strings.Count(out, "\nuser:u") + strings.Count(out, "\n  {\"subject\":\"user:u")
	}
	if out := s.do("who-can", "docs.files.read"); lines(out) != 1001 {
		t.Errorf("%d of 1001 are printed", lines(out))
	}
	if out := s.do("who-can", "docs.files.read", "--limit", "1"); lines(out) != 1 {
		t.Errorf("%d where one was asked for", lines(out))
	}
	if out := s.do("who-can", "docs.files.read", "-o", "json"); lines(out) != 1001 || !strings.HasSuffix(out, "\n]}\n") {
		t.Errorf("%d of 1001 in JSON", lines(out))
	}
	host, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	var pages atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(host)
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/listSubjects") && pages.Add(1)%2 == 0 {
			http.Error(w, "gone", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer cut.Close()
	for _, format := range []string{"text", "json"} {
		out, errs, code := s.say("", "who-can", "docs.files.read", "-o", format, "--url", cut.URL, "--token-file", filepath.Join(s.dir, "secret"))
		if code != exitFailure || lines(out) != 1000 || !strings.Contains(errs, "the list is not whole: ") || strings.HasSuffix(out, "]}\n") {
			t.Errorf("%s: exit %d, %d lines\n%s", format, code, lines(out), errs)
		}
	}
}

// What cannot be listed at a scope of which nothing is recorded says how to record it.
func TestALookupAtAScopeThatNobodyRecorded(t *testing.T) {
	s := newConsole(t)
	for _, args := range [][]string{{"who-can", "docs.files.read", "docs.doc:draft"}, {"what-can", "everybody", "docs.doc:draft"}} {
		_, errs, code := s.say("", s.over("socket", args)...)
		if code != exitFailure || !strings.Contains(errs, "authz scope parents docs.doc:draft PARENT") {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
}
