package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/authzhost/authz/bench/compare"
)

func TestMalformedCommandLinesAreRefusedBeforeAnyWork(t *testing.T) {
	for _, args := range [][]string{
		{"--users", "many"}, {"--users", "0"}, {"--users", ""}, {"--depth", "5,-1"}, {"--seconds", "0"}, {"--questions", "0"},
		{"--patience", "-1s"}, {"--output", "xml"}, {"--engines", "zanzibar"}, {"--unknown"}, {"more"},
		{"--lists", "--seconds", "1"}, {"--lists", "--patience", "1m"},
	} {
		var out, errs bytes.Buffer
		if code := run(context.Background(), args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%v: exit %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
}

func TestAnUnknownEngineIsAnsweredWithTheKnownOnes(t *testing.T) {
	var out, errs bytes.Buffer
	run(context.Background(), []string{"--engines", "zanzibar"}, &out, &errs)
	for _, p := range compare.Peers() {
		if !strings.Contains(errs.String(), p.Name) {
			t.Errorf("the message lacks %s: %s", p.Name, errs.String())
		}
	}
}

func TestTheCommandVerifiesThenTimesAndReportsAsAsked(t *testing.T) {
	args := []string{"--users", "30,40", "--depth", "3", "--seconds", "0.02", "--questions", "200", "--engines", "authz client,authz snapshot,opa", "--output", "json"}
	var out, errs bytes.Buffer
	if code := run(context.Background(), args, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var report compare.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Worlds) != 2 || report.Worlds[1].Users != 40 || len(report.Worlds[1].Lines) != 3 {
		t.Fatalf("%+v", report)
	}
	for _, l := range report.Worlds[1].Lines {
		if l.One.NsPerCheck <= 0 || l.Two.NsPerCheck <= 0 || l.OverClient <= 0 || l.OverSnapshot <= 0 || l.Version == "unknown" {
			t.Errorf("%+v", l)
		}
	}
	agreed, timed := strings.Index(errs.String(), "3 engines agree on 200 questions"), strings.Index(errs.String(), "timing")
	if agreed < 0 || timed < agreed {
		t.Errorf("nothing may be timed before all agree:\n%s", errs.String())
	}
}

func TestListsAreReportedAsAsked(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"--lists", "--users", "30", "--depth", "3", "--questions", "5", "--engines", "authz client", "--output", "json"}
	if code := run(context.Background(), args, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var report compare.ListReport
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || len(report.Lines) != 1 || report.Lines[0].Who <= 0 || report.Machine.Go == "" {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestWhatWasDoneBeforeAFailureIsReported(t *testing.T) {
	var out, errs bytes.Buffer
	// No world is 101 deep.
	code := run(context.Background(), []string{"--users", "30", "--depth", "3,101", "--seconds", "0.01", "--questions", "50", "--engines", "opa"}, &out, &errs)
	if code != 1 || !strings.Contains(out.String(), "30 users in") || !strings.Contains(errs.String(), "depth of 2 to 100") {
		t.Errorf("exit %d: %s\n%s", code, errs.String(), out.String())
	}
}

func TestAnInterruptEndsTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	if code := run(ctx, []string{"--users", "30", "--depth", "3"}, &out, &errs); code != 1 || out.Len() > 0 {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}
