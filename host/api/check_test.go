package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/authz"
)

func checkWorld(t *testing.T) *world {
	w := newWorld(t, worldOptions{scopeParents: map[string][]string{"docs.doc:d": {"docs.folder:f"}}})
	w.mustOK("createGrant", `{"input":{"subject":"user:u","pattern":"docs.files.read","scope":"docs.folder:f",`+admin+`}}`)
	w.mustOK("createGrant", `{"input":{"subject":"service:s","pattern":"docs.files.*",`+admin+`}}`)
	return w
}

func TestCheckAnswersTheGate(t *testing.T) {
	w := checkWorld(t)
	for body, want := range map[string]bool{
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:d"}`:                          true,
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:other"}`:                      false,
		`{"principal":{"userId":"u"},"key":"docs.files.read"}`:                                               false, // no scope is the global question
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":null,"fresh":null}`:                     false,
		`{"principal":{"userId":"u"},"key":["docs.files.delete","docs.files.read"],"scope":"docs.folder:f"}`: true, // any of
		`{"principal":{"serviceId":"s","userId":null},"key":"docs.files.delete"}`:                            true,
		`{"principal":{"userId":"s"},"key":"docs.files.delete"}`:                                             false,
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:d","fresh":true}`:             true,
	} {
		if a := w.post("check", body); a.status != 200 || a.body != fmt.Sprintf(`{"allowed":%v}`, want) {
			t.Errorf("%s: %d %s, want %v", body, a.status, a.body, want)
		}
	}
}

func TestAProgrammingErrorIsNeverADenial(t *testing.T) {
	w := checkWorld(t)
	a := w.post("check", `{"principal":{"userId":"u"},"key":"docs.files.raed"}`)
	a.expectError(t, 500, "UnknownPermissionError", "", "docs.files.read")
	detail := a.decoded(t)["error"].(map[string]any)["detail"].(map[string]any)
	if near, _ := detail["didYouMean"].([]any); len(near) == 0 || near[0] != "docs.files.read" {
		t.Errorf("the suggestions: %v", detail)
	}
	w.post("check", `{"principal":{"userId":"u"},"key":["docs.files.read","docs.files.*"]}`).
		expectError(t, 500, "UnknownPermissionError", "", "docs.files.*")
	w.post("check", `{"principal":{"userId":"u"},"key":["docs.files.read","docs.pay.approve"]}`).
		expectError(t, 500, "MissingConditionError", "", "docs.pay.approve")
}

func TestCheckNeedsAnEvaluator(t *testing.T) {
	w := newWorld(t, worldOptions{noEvaluator: true})
	w.post("check", `{"principal":5,"key":5}`).expectError(t, 501, refusedName, "unsupported",
		"the check operation needs an Application (a provider with a catalog) on the serving side")
}

func TestABatchJudgesEachMemberOnItsOwn(t *testing.T) {
	w := checkWorld(t)
	good := `{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:d"}`
	members := []string{good, `{"principal":{"userId":"u"},"key":"docs.files.read"}`, `5`, `null`, `{}`,
		`{"principal":{"userId":"u"}}`, `{"principal":{},"key":"docs.files.read"}`,
		`{"principal":{"userId":"u"},"key":"docs.files.raed"}`, `{"principal":{"userId":"u"},"key":"docs.pay.approve"}`,
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"nowhere"}`,
		`{"principal":{"userId":"u"},"key":"docs.files.read","fresh":1}`,
		`{"principal":{"userId":"u"},"key":"docs.files.read","at":{"seq":0}}`,
		`{"principal":{"serviceId":"s"},"key":"docs.files.delete","fresh":true,"unknown":1}`}
	want := []string{"true", "false", "validation", "validation", "validation", "validation", "validation",
		"UnknownPermissionError", "MissingConditionError", "validation", "validation", "validation", "true"}
	results := w.mustOK("check", `{"checks":[`+strings.Join(members, ",")+`]}`)["results"].([]any)
	var got []string
	for _, r := range results {
		result := r.(map[string]any)
		fault, failed := result["error"].(map[string]any)
		switch {
		case !failed:
			got = append(got, fmt.Sprint(result["allowed"]))
		case fault["code"] != nil:
			got = append(got, fault["code"].(string))
		default:
			got = append(got, fault["name"].(string))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	full := w.mustOK("check", `{"checks":[`+strings.Repeat(good+",", 999)+good+`]}`)
	if n := len(full["results"].([]any)); n != 1000 {
		t.Errorf("1000 members: %d results", n)
	}
}

// lagging is an evaluator that reaches event reached, which it has under an identity,
// and no further.
type lagging struct {
	api.Evaluator
	reached authz.Position
}

func (l lagging) AwaitPosition(ctx context.Context, at authz.Position) error {
	if at.Seq < l.reached.Seq || at == l.reached {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestAtAnswersFromStateAtLeastAsNew(t *testing.T) {
	w := checkWorld(t)
	ask := `{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:d","at":{"seq":%d}}`
	head := int(w.mustOK("epoch.head", "")["seq"].(float64))
	if a := w.post("check", fmt.Sprintf(ask, head)); a.body != `{"allowed":true}` {
		t.Errorf("at the head: %d %s", a.status, a.body)
	}
	h, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "a",
		Secrets: func() []string { return []string{secret} }, Evaluator: lagging{evaluator{w.client}, authz.Position{Seq: 3, Identity: "three"}}})
	if err != nil {
		t.Fatal(err)
	}
	w.server.Config.Handler = h
	reached := strings.Replace(ask, `"seq":%d`, `"seq":3,"identity":"three"`, 1)
	for _, at := range []string{fmt.Sprintf(ask, 2), reached} {
		if a := w.post("check", at); a.body != `{"allowed":true}` {
			t.Errorf("reached: %d %s", a.status, a.body)
		}
	}
	began := time.Now()
	w.post("check", fmt.Sprintf(ask, 4)).expectError(t, 503, "UnavailableError", "unavailable", "event 4")
	if took := time.Since(began); took < time.Second || took > 25*time.Second {
		t.Errorf("waited %v", took)
	}
	w.post("check", `{"at":{"seq":4},"checks":[{"principal":{"userId":"u"},"key":"docs.files.read"}]}`).
		expectError(t, 503, "UnavailableError", "unavailable", "event 4") // as a whole
}

func TestAtNeedsAnEventLog(t *testing.T) {
	w := newWorld(t, worldOptions{persist: new(bool)})
	w.post("check", `{"principal":{"userId":"u"},"key":"docs.files.read","at":{"seq":0}}`).
		expectError(t, 501, refusedName, "unsupported", "events.persist is off")
}

func TestAnUnresolvableScopeIsAnErrorNeverAnAnswer(t *testing.T) {
	failing := newWorld(t, worldOptions{decorate: func(a api.Backend) api.Backend { return a }})
	h, err := api.NewProviderHandler(api.ProviderOptions{Application: failing.app, ApplicationID: "a",
		Secrets: func() []string { return []string{secret} }, Evaluator: outage{}})
	if err != nil {
		t.Fatal(err)
	}
	failing.server.Config.Handler = h
	failing.post("check", `{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:d"}`).
		expectError(t, 503, "UnavailableError", "unavailable", "ancestry")
	a := failing.post("check", `{"checks":[{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:d"}]}`)
	if a.status != 200 || !strings.Contains(a.body, `{"error":{"name":"UnavailableError"`) || strings.Contains(a.body, "allowed") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// outage answers true beside its error: the error must win.
type outage struct{}

func (outage) Check(context.Context, authz.Principal, []string, string, bool) (bool, error) {
	return true, &authz.UnavailableError{Message: "the ancestry source does not answer"}
}
