package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/authz"
)

// TestAPlainBodyMeansWhatTheGeneralReaderReads sends every body twice: as it is,
// and with a member that nobody knows, which only the general reader accepts and
// ignores.
func TestAPlainBodyMeansWhatTheGeneralReaderReads(t *testing.T) {
	w := checkWorld(t)
	values := map[string][]string{
		"userId":    {`"u"`, `"nobody"`, `""`, `null`, `7`, `"\u0075"`, `"ü"`, `"a b"`, `"` + strings.Repeat("x", 1025) + `"`},
		"serviceId": {`"s"`, `""`, `null`},
		"key":       {`"docs.files.read"`, `"docs.files.delete"`, `"docs.pay.approve"`, `"docs.files.raed"`, `""`, `null`, `["docs.files.read","docs.files.delete"]`, `[]`, `"docs.files.read\n"`},
		"scope":     {`"docs.doc:d"`, `"docs.folder:f"`, `"*"`, `""`, `null`, `"docs.doc"`, `"docs.doc:"`, `"Bad:1"`, `"docs.doc:a b"`, `{}`},
		"fresh":     {`true`, `false`, `null`, `"true"`, `tru`},
	}
	members := func(rt *rapid.T, names ...string) string {
		var out []string
		for _, name := range names {
			for range rapid.SampledFrom([]int{0, 1, 1, 1, 1, 1, 1, 1, 2}).Draw(rt, "times") {
				value := ""
				if name == "principal" {
					value = "{" + pick(rt, values, "userId") + rapid.SampledFrom([]string{"", "", ",", "," + pick(rt, values, "serviceId")}).Draw(rt, "more") + "}"
				} else {
					value = rapid.SampledFrom(values[name]).Draw(rt, name)
				}
				out = append(out, `"`+name+`"`+rapid.SampledFrom([]string{":", " : ", ":\n"}).Draw(rt, "colon")+value)
			}
		}
		return strings.Join(out, ",")
	}
	object := func(rt *rapid.T) string { return "{" + members(rt, "principal", "key", "scope", "fresh") + "}" }
	general := func(body string) string { return strings.TrimSuffix(body, "}") + `,"x":0}` }
	plain := 0
	rapid.Check(t, func(rt *rapid.T) {
		body := object(rt)
		if rapid.Bool().Draw(rt, "batch") {
			body = `{"checks":[` + strings.Join(rapid.SliceOfN(rapid.Custom(object), 0, 4).Draw(rt, "checks"), ",") + `]}`
		}
		if body == "{}" {
			return // a comma would stand first
		}
		mine, theirs := w.post("check", body), w.post("check", general(body))
		if mine.status != theirs.status || mine.body != theirs.body {
			rt.Fatalf("%s\nanswers   %d %s\ninstead of %d %s", body, mine.status, mine.body, theirs.status, theirs.body)
		}
		if mine.status == 200 {
			plain++
		}
	})
	if plain < 5 {
		t.Errorf("only %d bodies were answered: the test compares refusals only", plain)
	}
}

func pick(rt *rapid.T, values map[string][]string, name string) string {
	return `"` + name + `":` + rapid.SampledFrom(values[name]).Draw(rt, name)
}

func TestABatchIsAsLargeAsItMayBe(t *testing.T) {
	w := checkWorld(t)
	const one = `{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:d"}`
	batch := func(n int) string { return `{"checks":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}` }
	if a := w.post("check", batch(1000)); a.status != 200 || strings.Count(a.body, `{"allowed":true}`) != 1000 {
		t.Errorf("1000 checks: %d %.80s", a.status, a.body)
	}
	w.post("check", batch(1001)).expectValidation(t, "a list of 1 to 1000 checks")
	for _, body := range []string{one + "x", one + one, one[:len(one)-1], "[" + one + "]"} {
		if a := w.post("check", body); a.status != 400 {
			t.Errorf("%.120s: %d %s", body, a.status, a.body)
		}
	}
}

// timed is an evaluator that notes how long a check may take.
type timed struct{ left time.Duration }

func (e *timed) Check(ctx context.Context, _ authz.Principal, _ []string, _ string, _ bool) (bool, error) {
	until, _ := ctx.Deadline()
	e.left = time.Until(until)
	return true, nil
}

// The time for a body that came quickly stands: were the check to outlast it, its
// context would be cancelled as if the caller had gone.
func TestAQuickCheckEndsBeforeTheTimeForItsBody(t *testing.T) {
	w, e := newWorld(t, worldOptions{}), &timed{}
	h, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "a", Evaluator: e, Secrets: func() []string { return []string{secret} }})
	if err != nil {
		t.Fatal(err)
	}
	w.server.Config.Handler = api.NewObserved(h, api.ObserveOptions{Done: func(*api.Answered) {}})
	w.mustOK("check", `{"principal":{"userId":"u"},"key":"docs.files.read"}`)
	if e.left <= 0 || e.left > 25*time.Second {
		t.Errorf("it may take %v", e.left)
	}
}
