package compare

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() *Report {
	w := World{Users: 1000, Depth: 5, Groups: 126, Scopes: 1300, Grants: 1513, Revokes: 500, Questions: 10_000, Lines: []Line{
		{Engine: "authz client", Version: "this tree", Model: "caches warm", LoadSeconds: 0.25, Loaded: 3 << 20, Warm: 5 << 20, Warmed: 10_000,
			One: Timing{Checks: 100, NsPerCheck: 200}, Two: Timing{Checks: 200, NsPerCheck: 100}},
		{Engine: "other", Version: "v1.2.3", Model: "rules", LoadSeconds: 1, Loaded: 1 << 19, Warm: 1 << 20, Warmed: 2500,
			One: Timing{Checks: 10, NsPerCheck: 1_234_567, Allocations: 7.25, BytesAlloced: 1024}, Two: Timing{Checks: 10, NsPerCheck: 1_234_567}},
		{Engine: "slow", Version: "v9.0.0", Model: "scans", LeftOut: "it would take an hour"},
	}}
	w.ratios()
	return &Report{Machine: Machine{Go: "go1.26", OS: "linux", Arch: "amd64", CPU: "some", Procs: 2}, Worlds: []World{w}}
}

func TestATableShowsRatiosUnitsAndWhatIsLeftOut(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	want := `go1.26, linux/amd64, some, GOMAXPROCS 2

1,000 users in 126 groups, 1,513 grants, 500 revokes, 1,300 scopes 5 deep; 10,000 questions, half of them denied

| engine | ns/check | 2 goroutines | speed-up | allocs | bytes | load | MiB loaded | MiB warm | × client | × snapshot |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| authz client | 200 | 100 | 2.00 | 0.0 | 0.0 | 0.25 s | 3.0 | 5.0 | 1.0 | - |
| other | 1,234,567 | 1,234,567 | 1.00 | 7.2 | 1,024 | 1.00 s | 0.5 | 1.0 | 6,173 | - |
| slow | LEFT OUT | - | - | - | - | - | - | - | - | - |

other was timed on the first 2,500 questions, all that its warm-up of 10s reached.

Left out: slow, it would take an hour.

- authz client this tree: caches warm
- other v1.2.3: rules
- slow v9.0.0: scans
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTextHoldsTheSameCellsAsMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"authz client  200 ", "6,173", "slow          LEFT OUT", "Left out: slow, it would take an hour.", "other v1.2.3: rules"} {
		if !bytes.Contains(b.Bytes(), []byte(part)) {
			t.Errorf("the text lacks %q:\n%s", part, b.String())
		}
	}
}

func TestJSONRoundTrips(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back Report
	decoder := json.NewDecoder(&b)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), &back); diff != "" {
		t.Error(diff)
	}
}
