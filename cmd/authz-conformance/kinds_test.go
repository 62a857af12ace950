package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance/runner"
)

// lineServer is the far side of testdata/several: it answers "read" with a long list
// of people and "window" with a line.
func lineServer(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				asked, err := bufio.NewReader(conn).ReadString('\n')
				if err != nil {
					return
				}
				w := bufio.NewWriter(conn)
				for n := range 10_000 { // more than is ever on its way to a reader
					if !strings.HasPrefix(asked, "read") {
						break
					}
					fmt.Fprintf(w, "person-%d\n", n)
					if n%1000 == 1 && w.Flush() != nil {
						return
					} else if n%1000 == 1 {
						time.Sleep(5 * time.Millisecond) // time for something to happen in the middle
					}
				}
				fmt.Fprintln(w, "end")
				_ = w.Flush()
			})
		}
	})
	return l.Addr().String()
}

// several runs the command over testdata/several.
func several(t *testing.T, defect string, args ...string) (code int, report document, errs string) {
	t.Helper()
	args = append([]string{"run", built(t, "several", "cmd/authz-conformance/testdata/several"), "--output", "json", "--parallel", "6", "--target", lineServer(t),
		"--counts-url", "http://127.0.0.1:{port}/metrics",
		"--config", `{server: "{target}", token: "hush-hush-token", state: "{dir}/state", listen: "127.0.0.1:{port}", defect: "` + defect + `"}`}, args...)
	code, out, errs := command(t, args...)
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, errs)
	}
	if strings.Contains(out+errs, "hush-hush-token") {
		t.Error("the report repeats a secret")
	}
	return code, report, errs
}

// someOfEach is a case of every ability and way to end, unless full.
func someOfEach() []string {
	if full {
		return nil
	}
	return []string{"--case", "W01,W07,W10,W12,W15,W16,W21,W25,W27,W29,W33,D01,D12,D16,D17,D18,D20,D21,D22,D23,D25,D28,D32"}
}

func TestAPluginOfSeveralKindsIsProvedForEach(t *testing.T) {
	code, report, errs := several(t, "", someOfEach()...)
	skipped := map[string]string{}
	for _, c := range report.Cases {
		switch c.Outcome {
		case runner.Failed:
			t.Errorf("%s: %+v", c.ID, c.Failure)
		case runner.Skipped:
			skipped[c.ID] = c.Reason
		}
	}
	for id, reason := range map[string]string{
		"W16": "the counts cannot be read once the sink has ended",
		"D12": "how far the importer is ahead of its reader cannot be told",
		"D16": "how far the importer is ahead of its reader cannot be told",
		"D17": `the importer lacks the capability "incremental"`,
		"D18": `the importer lacks the capability "incremental"`,
	} {
		if skipped[id] != reason {
			t.Errorf("%s: skipped for %q, want %q", id, skipped[id], reason)
		}
		delete(skipped, id)
	}
	if len(skipped) > 0 {
		t.Errorf("also skipped: %v", skipped)
	}
	if code != 0 || !report.Passed || report.Driver != nil || !slices.Equal(report.Plugin.Kinds, []string{"metrics_sink", "directory_importer"}) {
		t.Errorf("code %d, passed %v, driver %v, kinds %q", code, report.Passed, report.Driver, report.Plugin.Kinds)
	}
	contains(t, "stderr", errs, "plugin several", "metrics_sink, directory_importer", "sink: ", "importer: ")
}

func TestDefectsOfOtherKindsAreFound(t *testing.T) {
	for defect, ids := range map[string]string{"forgets": "W10,W12", "empty": "D20", "partial": "D21"} {
		code, report, errs := several(t, defect, "--case", ids, "--counts-within", "15s", "--rounds-within", "20s")
		if code != exitFailed || report.Passed || len(report.Cases) != strings.Count(ids, ",")+1 {
			t.Errorf("%s: code %d\n%s", defect, code, errs)
		}
		for _, c := range report.Cases {
			if c.Outcome != runner.Failed || c.Failure.Expected == "" || c.Failure.Got == "" || c.Failure.Where == "" || len(c.Failure.Done) == 0 ||
				!strings.Contains(c.Failure.Again, "--counts-url") || !strings.Contains(c.Failure.Again, "--counts-within 15s") || !strings.Contains(c.Failure.Again, "--rounds-within 20s") || !strings.Contains(c.Failure.Again, "--case "+c.ID) {
				t.Errorf("%s: %s %s %+v", defect, c.ID, c.Outcome, c.Failure)
			}
		}
	}
}

func TestKindsAreChosen(t *testing.T) {
	_, report, _ := several(t, "", "--kind", "directory_importer", "--case", "D01,D28")
	if len(report.Cases) != 2 || !report.Passed {
		t.Errorf("%+v", report)
	}
	path := built(t, "several", "cmd/authz-conformance/testdata/several")
	for _, c := range []struct {
		says string
		args []string
	}{
		{"the plugin serves no storage", []string{"--kind", "storage"}},
		{`there is no kind "sinks"`, []string{"--kind", "sinks"}},
		{`there is no suite "driver"`, []string{"--suite", "driver"}},
		{`there is no case "B01"`, []string{"--kind", "metrics_sink", "--case", "B01"}},
		{"--target and {target}", []string{"--target", "127.0.0.1:1"}},
		{"--target is host:port", []string{"--target", "nowhere"}},
		{"--counts-within", []string{"--counts-within", "0s"}},
		{"--rounds-within", []string{"--rounds-within", "-1s"}},
	} {
		code, _, errs := command(t, append([]string{"run", path, "--config", `{server: "127.0.0.1:1", state: "{dir}/s"}`}, c.args...)...)
		if code != exitUsage {
			t.Errorf("%v: code %d", c.args, code)
		}
		contains(t, fmt.Sprint(c.args), errs, c.says)
	}
	_, out, _ := command(t, "list", "--kind", "metrics_sink")
	contains(t, "the list", out, "W01", "W33")
	if strings.Contains(out, "D01") || strings.Contains(out, "B01") {
		t.Errorf("other kinds are listed:\n%s", out)
	}
}
