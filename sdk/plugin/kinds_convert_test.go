package plugin

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/metrics"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Everything that a writer of windows may send, at its limits too.

var numbers = rapid.SampledFrom([]int64{0, 1, 7, authz.MaxInstant, math.MaxInt64})

var estimates = rapid.SampledFrom([]float64{0, 1, 0.5, float64(authz.MaxInstant), math.MaxFloat64, math.SmallestNonzeroFloat64})

// bounded is a text as a counter's key may be, its longest among them.
func bounded(limit int) *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"", "a", "docs.doc:1", "Ä́\u2028\t", strings.Repeat("x", limit) + "…"}), rapid.StringN(0, 8, limit))
}

var checkCounters = rapid.Custom(func(t *rapid.T) metrics.CheckCounter {
	return metrics.CheckCounter{Permission: bounded(256).Draw(t, "permission"), Decision: metrics.Decision(bounded(8).Draw(t, "decision")),
		Shape: metrics.Shape(bounded(8).Draw(t, "shape")), Gate: rapid.Bool().Draw(t, "gate"), ScopeType: bounded(256).Draw(t, "type"),
		Scope: bounded(1024).Draw(t, "scope"), Observed: numbers.Draw(t, "observed"), Estimated: estimates.Draw(t, "estimated")}
})

var rowCounters = rapid.Custom(func(t *rapid.T) metrics.RowCounter {
	return metrics.RowCounter{RowID: bounded(1024).Draw(t, "row"), Matched: numbers.Draw(t, "matched"), SoleMatch: numbers.Draw(t, "sole"),
		EstimatedMatched: estimates.Draw(t, "em"), EstimatedSoleMatch: estimates.Draw(t, "es"),
		RecentPrincipals: rapid.SliceOfN(bounded(1032), 0, 5).Draw(t, "recent")}
})

var windows = rapid.Custom(func(t *rapid.T) metrics.Window {
	start := rapid.Int64().Draw(t, "start")
	rows := rapid.SliceOfN(rowCounters, 0, 3)
	w := metrics.Window{
		Application: rapid.StringN(1, 8, 1024).Draw(t, "application"), Origin: rapid.StringMatching(`[a-zA-Z0-9_-]{1,64}`).Draw(t, "origin"),
		Sequence: rapid.Uint64Min(1).Draw(t, "sequence"),
		Batch: metrics.Batch{InstanceID: bounded(1024).Draw(t, "instance"), WindowStart: start, WindowEnd: rapid.Int64Min(start).Draw(t, "end"),
			Checks: rapid.SliceOfN(checkCounters, 0, 3).Draw(t, "checks"), Grants: rows.Draw(t, "grants"), Revokes: rows.Draw(t, "revokes"), Roles: rows.Draw(t, "roles"),
			Principals: metrics.PrincipalsCount{Distinct: numbers.Draw(t, "distinct"), Overflowed: rapid.Bool().Draw(t, "overflowed")},
			Dropped:    numbers.Draw(t, "dropped")}}
	// Now and then many of one, so that several parts are needed.
	if len(w.Grants) > 0 && rapid.IntRange(0, 9).Draw(t, "many") == 0 {
		for len(w.Grants) < 1500 {
			w.Grants = append(w.Grants, w.Grants[0])
		}
	}
	return w
})

// parts serializes a window's parts and answers them again, one a call.
func parts(t interface{ Fatal(...any) }, w *metrics.Window) (recv func() (*pluginv1.WindowPart, error), largest int) {
	var sent [][]byte
	for part := range windowParts(w) {
		b, err := proto.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		sent, largest = append(sent, b), max(largest, len(b))
	}
	return partsOf(sent...), largest
}

func partsOf(messages ...[]byte) func() (*pluginv1.WindowPart, error) {
	return func() (*pluginv1.WindowPart, error) {
		if len(messages) == 0 {
			return nil, io.EOF
		}
		part := &pluginv1.WindowPart{}
		err := proto.Unmarshal(messages[0], part)
		messages = messages[1:]
		return part, err
	}
}

func TestEveryWindowCrossesUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := windows.Draw(t, "window")
		recv, largest := parts(t, &want)
		got, err := receiveWindow(recv)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal("(-sent +received)", diff)
		}
		if largest > chunkBytes+(8<<10) {
			t.Fatalf("a part has %d bytes", largest)
		}
	})
}

var directoryTexts = rapid.OneOf(rapid.SampledFrom([]string{"", "a", "Ä́\u2028\t", strings.Repeat("x", 60_000)}), rapid.String())

var lists = rapid.SliceOfN(directoryTexts, 0, 3)

var entryOf = rapid.Custom(func(t *rapid.T) directory.Entry {
	id := directoryTexts.Draw(t, "id")
	switch rapid.IntRange(0, 5).Draw(t, "entry") {
	case 0:
		return directory.Group{ID: id, Name: directoryTexts.Draw(t, "name"), Description: directoryTexts.Draw(t, "description"), Parents: lists.Draw(t, "parents")}
	case 1:
		return directory.User{UserID: id, Active: optional(t, "active", rapid.Bool())}
	case 2:
		return directory.Membership{UserID: id, Groups: lists.Draw(t, "groups")}
	case 3:
		return directory.ReportingEdge{UserID: id, ManagerID: directoryTexts.Draw(t, "manager")}
	case 4:
		return directory.OrgMembership{UserID: id, Orgs: lists.Draw(t, "orgs")}
	default:
		return directory.Warning{Message: bounded(3000).Draw(t, "message")}
	}
})

var begins = rapid.Custom(func(t *rapid.T) directory.Begin {
	return directory.Begin{Datasets: rapid.SliceOfN(rapid.SampledFrom(directory.ImporterCapabilities()), 0, 6).Draw(t, "datasets"),
		Incremental: rapid.Bool().Draw(t, "incremental"), Expected: rapid.IntRange(0, math.MaxInt).Draw(t, "expected")}
})

func TestEveryEntryCrossesUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := []directory.Entry{begins.Draw(t, "begin")}
		want = append(want, rapid.SliceOfN(entryOf, 0, 4).Draw(t, "entries")...)
		want = append(want, directory.End{Cursor: directoryTexts.Filter(func(s string) bool { return len(s) <= maxCursor }).Draw(t, "cursor")})
		var got []directory.Entry
		var sender, receiver reading
		for _, e := range want {
			m := must[*pluginv1.ImportEntry](t)(sender.encode(e))
			got = append(got, must[directory.Entry](t)(receiver.decode(wire(t, m))))
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal("(-sent +received)", diff)
		}
	})
}

func TestAReadingThatBreaksItsRulesIsRefusedOnBothSides(t *testing.T) {
	type entries = []directory.Entry
	begin, end := directory.Begin{}, directory.End{}
	for name, told := range map[string]entries{
		"an entry before the begin":  {directory.User{UserID: "u"}, begin},
		"an end before the begin":    {end},
		"two begins":                 {begin, begin},
		"an entry after the end":     {begin, end, directory.User{UserID: "u"}},
		"two ends":                   {begin, end, end},
		"a begin after the end":      {begin, end, begin},
		"a negative expectation":     {directory.Begin{Expected: -1}},
		"a warning beyond measure":   {begin, directory.Warning{Message: strings.Repeat("w", maxEntry)}},
		"a long cursor":              {begin, directory.End{Cursor: strings.Repeat("c", maxCursor+1)}},
		"a long name":                {begin, directory.Group{ID: "g", Name: strings.Repeat("n", maxEntry)}},
		"many groups":                {begin, directory.Membership{UserID: "u", Groups: make([]string, maxEntry/2)}},
		"text that is not UTF-8":     {begin, directory.User{UserID: "\xff"}},
		"a nil entry":                {begin, nil},
		"a pointer to an entry":      {begin, &directory.User{UserID: "u"}},
		"an entry of a foreign type": {begin, struct{ directory.User }{}},
	} {
		var sender, receiver reading
		var sent, received error
		for _, e := range told {
			if _, err := sender.encode(e); err != nil {
				sent = errors.Join(sent, err)
			}
			m := encodeEntry(e)
			if m == nil {
				m = &pluginv1.ImportEntry{}
			}
			b, err := proto.MarshalOptions{}.Marshal(m)
			if err != nil { // the sender's own library refuses to
				received = authz.Validation("not sent")
				continue
			}
			var arrived pluginv1.ImportEntry
			if err := proto.Unmarshal(b, &arrived); err != nil {
				t.Fatal(err)
			}
			if _, err := receiver.decode(&arrived); err != nil {
				received = errors.Join(received, err)
			}
		}
		if authz.CodeOf(sent) != authz.CodeValidation || authz.CodeOf(received) != authz.CodeValidation {
			t.Errorf("%s: the sender says %v, the receiver %v", name, sent, received)
		}
	}
}

func TestAWindowThatIsMalformedIsRefused(t *testing.T) {
	head := &pluginv1.WindowHead{Application: "docs", Origin: "o", Sequence: 1}
	whole := &pluginv1.WindowPart{Head: head, End: true}
	check := func(c *pluginv1.CheckCounter) *pluginv1.WindowPart {
		return &pluginv1.WindowPart{Head: head, Checks: []*pluginv1.CheckCounter{c}, End: true}
	}
	type parts = []*pluginv1.WindowPart
	for name, sent := range map[string]parts{
		"nothing":              {},
		"no head":              {{End: true}},
		"two heads":            {{Head: head}, whole},
		"no end":               {{Head: head}, {}},
		"two ends":             {whole, {End: true}},
		"a part after the end": {whole, {Checks: []*pluginv1.CheckCounter{{}}}},
		"no origin":            {{Head: &pluginv1.WindowHead{Application: "docs", Sequence: 1}, End: true}},
		"a negative count":     {check(&pluginv1.CheckCounter{Observed: -1})},
		"an estimate of NaN":   {check(&pluginv1.CheckCounter{Estimated: math.NaN()})},
		"an oversized text":    {check(&pluginv1.CheckCounter{Scope: strings.Repeat("s", 2000)})},
		"a nil counter, spoilt by its neighbour": {{Head: head, End: true,
			Grants: []*pluginv1.RowCounter{nil, {EstimatedMatched: math.Inf(-1)}}}},
		"too many counters": {{Head: head, Roles: make([]*pluginv1.RowCounter, metrics.MaxWindowCounters)},
			{Roles: make([]*pluginv1.RowCounter, 1), End: true}},
	} {
		_, err := receiveWindow(func() (*pluginv1.WindowPart, error) {
			if len(sent) == 0 {
				return nil, io.EOF
			}
			part := sent[0]
			sent = sent[1:]
			return part, nil
		})
		if authz.CodeOf(err) != authz.CodeValidation {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

func FuzzDecodeWindow(f *testing.F) {
	w := metrics.Window{Application: "docs", Origin: "o", Sequence: 3, Batch: metrics.Batch{
		Checks: []metrics.CheckCounter{{Permission: "p", Observed: 1, Estimated: 2}}, Grants: []metrics.RowCounter{{RowID: "g", RecentPrincipals: []string{"user:u"}}}}}
	for part := range windowParts(&w) {
		b, err := proto.Marshal(part)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte{})
		f.Add(b, b)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		messages := [][]byte{first}
		if len(second) > 0 {
			messages = append(messages, second)
		}
		got, err := receiveWindow(partsOf(messages...))
		if err != nil {
			return
		}
		if err := got.Validate(); err != nil {
			t.Fatalf("a window that is none was taken: %v", err)
		}
		recv, _ := parts(t, &got)
		again, err := receiveWindow(recv)
		if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	})
}

func FuzzDecodeEntries(f *testing.F) {
	active := true
	whole := &pluginv1.ImportChunk{}
	for _, e := range []directory.Entry{directory.Begin{Datasets: []directory.ImporterCapability{directory.CapUsers}}, directory.Group{ID: "g", Parents: []string{"p"}},
		directory.User{UserID: "u", Active: &active}, directory.Membership{UserID: "u", Groups: []string{"g"}}, directory.ReportingEdge{UserID: "u", ManagerID: "m"},
		directory.OrgMembership{UserID: "u"}, directory.Warning{Message: "w"}, directory.End{Cursor: "c"}} {
		whole.Entries = append(whole.Entries, encodeEntry(e))
	}
	b, err := proto.Marshal(whole)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var chunk pluginv1.ImportChunk
		if proto.Unmarshal(b, &chunk) != nil {
			return
		}
		var receiver, sender reading
		for _, m := range chunk.GetEntries() {
			e, err := receiver.decode(m)
			if err != nil {
				if authz.CodeOf(err) != authz.CodeValidation {
					t.Fatal(err)
				}
				return
			}
			sent, err := sender.encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, decodeEntry(sent), cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
