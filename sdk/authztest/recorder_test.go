package authztest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// recorder is a test whose failures are looked at.
type recorder struct {
	testing.TB
	said strings.Builder
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { fmt.Fprintf(&r.said, format+"\n", args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.said.WriteString(fmt.Sprintln(args...))
	runtime.Goexit()
}

// failing returns what a test says that fails.
func failing(t *testing.T, test func(t testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	return r.said.String()
}

// passes runs a test of an example.
func passes(test func(t *testing.T)) {
	matched := func(string, string) (bool, error) { return true, nil }
	if testing.RunTests(matched, []testing.InternalTest{{Name: "example", F: test}}) {
		fmt.Println("ok")
	}
}
