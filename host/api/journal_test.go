package api

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

func TestAnOutageIsToldOnceASecondForEachOperationOnEachApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		j := newJournal(hclog.New(&hclog.LoggerOptions{Output: &out}))
		for range 1000 {
			j.outage(operationOn{"docs", "check"})
		}
		j.outage(operationOn{"docs", "createGrant"})
		j.outage(operationOn{"wiki", "check"})
		if n := strings.Count(out.String(), "unavailable"); n != 3 || strings.Count(out.String(), "application=wiki") != 1 {
			t.Fatalf("%d lines, want one for each operation:\n%s", n, out.String())
		}
		time.Sleep(outageInterval)
		j.outage(operationOn{"docs", "check"})
		if !strings.Contains(out.String(), "more_since_last=999") {
			t.Fatalf("what was not told is not counted:\n%s", out.String())
		}
	})
}
