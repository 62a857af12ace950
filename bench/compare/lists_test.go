package compare

import (
	"context"
	"strings"
	"testing"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

func TestListsOfAllEnginesAreTheRowsOwn(t *testing.T) {
	peers := Listers()
	if len(peers) != 3 {
		t.Fatalf("%d engines", len(peers))
	}
	lines, err := RunLists(t.Context(), Options{Peers: peers, Users: []int{50}, Depths: []int{4}, Questions: 12})
	if err != nil || len(lines) != len(peers) {
		t.Fatal(lines, err)
	}
	for _, l := range lines {
		if l.Rows != lines[0].Rows || l.Rows == 0 || l.Who <= 0 || l.Where <= 0 {
			t.Errorf("%+v", l)
		}
	}
}

// Rows that an engine lacks are found out in each of the lists.
func TestAWrongListIsFoundOut(t *testing.T) {
	spoiled := Listers()[0]
	load := spoiled.Load
	for name, of := range map[string]struct {
		spoil func(*workload.World)
		says  string
	}{
		"users":  {func(w *workload.World) { w.Revokes = nil }, "users may use"},
		"scopes": {func(w *workload.World) { w.Grants = w.Grants[:len(w.Grants)/2] }, "disagrees"},
	} {
		spoiled.Load = func(ctx context.Context, w *workload.World) (engine.Engine, error) {
			other := *w
			of.spoil(&other)
			return load(ctx, &other)
		}
		_, err := RunLists(t.Context(), Options{Peers: []engine.Peer{spoiled}, Users: []int{100}, Depths: []int{4}, Questions: 200})
		if err == nil || !strings.Contains(err.Error(), of.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
