package compare

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

func TestListsOfAllEnginesAreTheRowsOwn(t *testing.T) {
	peers, out := Listers()
	if len(peers) != 3 || len(peers)+len(out) != len(Peers()) {
		t.Fatalf("%d engines, %v", len(peers), out)
	}
	report, err := RunLists(t.Context(), Options{Peers: peers, Users: []int{50}, Depths: []int{4}, Questions: 12})
	if err != nil || len(report.Lines) != len(peers) {
		t.Fatal(report, err)
	}
	for _, l := range report.Lines {
		if l.Rows != report.Lines[0].Rows || l.Rows == 0 || l.Who <= 0 || l.Where <= 0 {
			t.Errorf("%+v", l)
		}
	}
}

// lossy forgets so many of the last rows of each list.
type lossy struct {
	engine.Engine
	who, where int
}

func (l lossy) Who(ctx context.Context, key string, scope workload.ScopeID) ([]string, error) {
	users, err := l.Engine.(engine.Lister).Who(ctx, key, scope)
	return users[:max(0, len(users)-l.who)], err
}

func (l lossy) Where(ctx context.Context, user, key string) ([]workload.ScopeID, error) {
	scopes, err := l.Engine.(engine.Lister).Where(ctx, user, key)
	return scopes[:max(0, len(scopes)-l.where)], err
}

func TestAWrongListIsFoundOut(t *testing.T) {
	peers, _ := Listers()
	for _, of := range []struct {
		who, where int
		says       string
	}{{1, 0, " users may use "}, {0, 1, " scopes, want "}} {
		spoiled, load := peers[0], peers[0].Load
		spoiled.Load = func(ctx context.Context, w *workload.World) (engine.Engine, error) {
			e, err := load(ctx, w)
			return lossy{e, of.who, of.where}, err
		}
		report, err := RunLists(t.Context(), Options{Peers: []engine.Peer{spoiled}, Users: []int{50}, Depths: []int{4}, Questions: 12})
		if err == nil || !strings.Contains(err.Error(), of.says) || len(report.Lines) > 0 {
			t.Errorf("%+v: %v, %v", of, err, report)
		}
	}
}

func TestATableOfListsTellsWhatIsLeftOut(t *testing.T) {
	report := ListReport{Machine: sample().Machine, Lines: []ListLine{{Engine: "one", Version: "v1", Users: 50, Depth: 4, Who: 1_234_567, WhoP99: 23_456_789, Where: 1500, WhereP99: 2 * time.Second, Rows: 9}},
		LeftOut: []LeftOut{{"other", "it answers no lists"}}}
	for name, of := range map[string]struct {
		write func(io.Writer) error
		want  string
	}{
		"text": {report.WriteText, `go1.26, linux/amd64, some, GOMAXPROCS 2

users  deep  engine  who, p50  p99     where, p50  p99  rows
50     4     one v1  1.235ms   23.5ms  2µs         2s   9
Left out: other, it answers no lists.
`},
		"markdown": {report.WriteMarkdown, `go1.26, linux/amd64, some, GOMAXPROCS 2

| users | deep | engine | who, p50 | p99 | where, p50 | p99 | rows |
| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |
| 50 | 4 | one v1 | 1.235ms | 23.5ms | 2µs | 2s | 9 |

Left out: other, it answers no lists.
`}} {
		var b bytes.Buffer
		if err := of.write(&b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(of.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
