package main

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

// connects is a backend whose second process is what the function makes.
type connects func() (storage.Driver, error)

func (c connects) Connect(context.Context) (storage.Driver, error) { return c() }
func (connects) Close() error                                      { return nil }

// Only rows that live in the process make every case's database fresh: that a second
// process cannot be had does not.
func TestWhatASecondProcessTells(t *testing.T) {
	rows := memory.NewBackend(memory.Options{})
	for _, c := range []struct {
		want    neighbour
		connect connects
	}{
		{sharing, func() (storage.Driver, error) { return rows.Driver(), nil }},
		{apart, func() (storage.Driver, error) { return memory.New(memory.Options{}), nil }},
		{absent, func() (storage.Driver, error) { return nil, errors.New("the file is locked") }},
	} {
		second, why, err := meet(t.Context(), c.connect, rows.Driver(), "p")
		if err != nil || second != c.want || (why == "") != (c.want == sharing) {
			t.Errorf("%d, %q, %v, want %d", second, why, err, c.want)
		}
	}
}

func TestSectionsMustHoldBetweenSeparateProcesses(t *testing.T) {
	code, out, errs := command(t, "run", built(t, "sqlite", "plugins/sqlite"), "--config", `{path: "{dir}/authz.db", lock: none}`,
		"--case", "B25f", "--output", "json")
	var report document
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, errs)
	}
	if report.Cases[0].Outcome != conformance.Skipped {
		t.Errorf("a case that needs two processes: %s", report.Cases[0].Outcome)
	}
	contains(t, "stderr", errs, "does not declare that sections hold across processes: cases that need two processes take two stores of one")
}
