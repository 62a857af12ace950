package scripts

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListsThatNameRowsAreSortedByTheirSymbols(t *testing.T) {
	for text, want := range map[string]string{
		`{"parents":["GROUP2","GROUP10","a"]}`:                                `{"parents":["GROUP10","GROUP2","a"]}`,
		`{"sources":[{"grantId":"G2"},{"grantId":"G10"}]}`:                    `{"sources":[{"grantId":"G10"},{"grantId":"G2"}]}`,
		`{"of":[{"closure":["group:GROUP9","group:GROUP10"]}]}`:               `{"of":[{"closure":["group:GROUP10","group:GROUP9"]}]}`,
		`{"userIds":["b","a"]}`:                                               `{"userIds":["a","b"]}`,
		`{"findings":[{"via":{"role":"b"}},{"via":{"role":"a"}}]}`:            `{"findings":[{"via":{"role":"a"}},{"via":{"role":"b"}}]}`,
		`{"path":["GROUP2","GROUP10","GROUP2"]}`:                              `{"path":["GROUP2","GROUP10","GROUP2"]}`,
		`{"events":[{"subject":"group:GROUP2"},{"subject":"group:GROUP10"}]}`: `{"events":[{"subject":"group:GROUP2"},{"subject":"group:GROUP10"}]}`,
		`{"warnings":["b","a"]}`:                                              `{"warnings":["b","a"]}`,
	} {
		if diff := cmp.Diff(Decoded(t, []byte(want)), settled(Decoded(t, []byte(text)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestOfAnErrorWhatIsWantedIsCompared(t *testing.T) {
	const got = `{"name":"N","code":"graph_cycle","message":"cycle: a","detail":{"path":["a"],"more":1}}`
	for want, same := range map[string]bool{
		`{"name":"N","code":"graph_cycle","message":"cycle: a"}`:                         true,
		`{"name":"N","code":"graph_cycle","message":"cycle: b"}`:                         false,
		`{"name":"N","code":"conflict","message":"cycle: a"}`:                            false,
		`{"name":"N","code":"graph_cycle","message":"cycle: a","detail":{"path":["a"]}}`: true,
		`{"name":"N","code":"graph_cycle","message":"cycle: a","detail":{"path":["b"]}}`: false,
		`{"name":"N","message":"anything"}`:                                              true,
		`{"name":"M"}`:                                                                   false,
	} {
		fault, wanted := Decoded(t, []byte(got)).(map[string]any), Decoded(t, []byte(want)).(map[string]any)
		if cmp.Equal(comparable(wanted, wanted), comparable(fault, wanted)) != same {
			t.Errorf("%s is no longer judged %t", want, same)
		}
	}
}

func TestTheClockMovesAStepAtATime(t *testing.T) {
	var now atomic.Int64
	now.Store(5)
	for i, c := range []struct {
		step Time
		want int64
	}{{Time{}, 1005}, {Time{Advance: new(int64(7))}, 1012}, {Time{At: new(int64(3)), Advance: new(int64(7))}, 3}} {
		if c.step.Set(&now); now.Load() != c.want {
			t.Errorf("step %d: %d, want %d", i, now.Load(), c.want)
		}
	}
}
