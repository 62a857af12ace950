//go:build linux

package main

import (
	"errors"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

// A fault that finds nothing must say so, and reach nothing else: the process id 0 is
// this process's own group, the parent 0 that of the machine's first process.
func TestAFaultWithoutADatabaseMisses(t *testing.T) {
	cluster, err := postgrestest.Start(t.Context(), postgrestest.Options{})
	if errors.Is(err, postgrestest.ErrNoBinaries) {
		t.Skipf("SKIPPED: %v; a server of the test's own is NOT killed", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	s := &stage{cluster: cluster, hosts: []*host{{}}}
	if server, backends := s.database(); len(server) != 1 || len(backends) == 0 {
		t.Fatalf("a server that runs: %v, %v", server, backends)
	}
	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	if server, backends := s.database(); len(server)+len(backends) > 0 {
		t.Fatalf("a server that was killed: %v, %v", server, backends)
	}
	for _, kind := range []faultKind{killBackend, hangDatabase, killDatabase} {
		if _, hit, err := s.inflictOne(t.Context(), fault{kind: kind}); hit || err != nil {
			t.Errorf("%s: hit %v, %v", kind, hit, err)
		}
	}
	if cluster.Pid() == 0 {
		t.Error("the database was not started again")
	}
}

func TestAMissFallsBackToAKill(t *testing.T) {
	living := exec.Command("sleep", "60")
	if err := living.Start(); err != nil {
		t.Fatal(err)
	}
	h := &host{process: living, ended: make(chan struct{}), closing: true}
	go func() {
		_ = living.Wait()
		close(h.ended)
	}()
	s := &stage{cluster: &postgrestest.Cluster{}, hosts: []*host{h}}
	for range 2 { // the second finds no host either
		if err := s.inflict(t.Context(), []fault{{kind: killBackend}}, time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if done, kills := s.faults.done.Load(), s.faults.kinds[0].Load(); done != 1 || kills != 1 {
		t.Errorf("%d faults, %d hosts killed", done, kills)
	}
}

// A run whose faults found nothing to hit proves nothing.
func TestARunOfFewFaultsIsNoSuccess(t *testing.T) {
	for done, want := range map[int64]int{8: 1, 9: 0} {
		r := &report{out: io.Discard}
		s := &stage{dir: t.TempDir(), options: options{kills: 10}, ledger: newLedger()}
		s.ledger.counts[applied] = s.options.kills
		s.faults.done.Store(done)
		if code := r.conclude(s, time.Second); code != want {
			t.Errorf("%d of 10 faults: exit %d, want %d: %v", done, code, want, r.breaches)
		}
	}
}
