package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// requestOperationsAnswer runs through the operations on access requests and
// returns their names.
func requestOperationsAnswer(t *testing.T, w *world) []string {
	t.Helper()
	w.mustOK("createRole", `{"input":{"id":"judges","name":"Judges","patterns":[]},`+admin+`}`)
	w.mustOK("createGrant", `{"input":{"subject":"user:judge","roleId":"judges",`+admin+`}}`)
	w.mustOK("createRole", `{"input":{"id":"ask","name":"Ask","patterns":["docs.files.read"],"requestable":{"maxDurationMs":1000,
		"prompts":[{"id":"why","label":"Why"}],"stages":[{"kind":"named_approvers","roleId":"judges"}]}},`+admin+`}`)
	asked := func(rest string) string {
		return `{"id":…,"requesterUserId":"w","roleId":"ask","scope":"*","proposedExpiresAt":1700000001000,"justification":{"why":"audit","__proto__":"x"},` +
			rest + `,"stageIndex":0,"stages":[{"kind":"named_approvers","roleId":"judges"}],"createdAt":1700000000000}`
	}
	pending := asked(`"state":"pending","decisions":[]`)
	approved := asked(`"state":"approved","decidedAt":1700000000000,"decisions":[{"stageIndex":0,"decidedBy":"judge","decision":"approved","at":1700000000000,"note":"ok"}]`)
	cancelled := asked(`"state":"cancelled","decidedAt":1700000000000,"decisions":[]`)
	submit := `{"input":{"requesterUserId":"w","roleId":"ask","scope":null,"justification":{"why":"audit","__proto__":"x","left out":null}}}`
	var called []string
	id := ""
	for _, step := range []struct{ op, body, want string }{
		{"submitRequest", submit, `{"request":` + pending + `}`},
		{"listApproverQueue", `{"approverUserId":"judge"}`, `{"requests":[` + pending + `]}`},
		{"listApproverQueue", `{"approverUserId":"w"}`, `{"requests":[]}`},
		{"decideRequest", `{"requestId":$id,"decision":{"deciderUserId":"judge","decision":"approved","note":"ok"}}`, `{"request":` + approved + `}`},
		{"submitRequest", submit, `{"request":` + pending + `}`},
		{"cancelRequest", `{"requestId":$id,"byUserId":"w"}`, `{"request":` + cancelled + `}`},
		{"listRequests", ``, `{"requests":[` + approved + `,` + cancelled + `]}`},
		{"listRequests", `{"filter":{"state":"cancelled","requesterUserId":"w"}}`, `{"requests":[` + cancelled + `]}`},
		{"listRequests", `{"filter":{"requesterUserId":"nobody"}}`, `{"requests":[]}`},
	} {
		called = append(called, step.op)
		got := w.mustOK(step.op, strings.ReplaceAll(step.body, "$id", id))
		if row, ok := got["request"].(map[string]any); ok {
			id = text(row["id"])
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(step.want, "…", `"…"`)), &want); err != nil {
			t.Fatalf("%s: %v", step.want, err)
		}
		if diff := cmp.Diff(want, masked(want, got)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", step.op, step.body, diff)
		}
	}
	return called
}

// No cap at all is what 0 would come to mean.
func TestACapOfNothingIsRefused(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for _, cap := range []string{`0`, `-1`, `1.5`, `"1"`, `0.0`} {
		w.post("createRole", `{"input":{"name":"Ask","patterns":["docs.files.read"],"requestable":{"maxDurationMs":`+cap+`,"stages":[{"kind":"auto","predicate":{"type":"member_of","subject":"everyone"}}]}},`+admin+`}`).
			expectError(t, http.StatusUnprocessableEntity, "ProviderWriteRejectedError", "validation", "maxDurationMs")
	}
	w.mustOK("createRole", `{"input":{"name":"Ask","patterns":["docs.files.read"],"requestable":{"maxDurationMs":null,"stages":[{"kind":"auto","predicate":{"type":"member_of","subject":"everyone"}}]}},`+admin+`}`)
}

// Each refusal names the member, and is no internal error.
func TestParametersOfRequestsHaveTheirTypes(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for _, c := range []struct{ op, body, message string }{
		{"submitRequest", `{"input":[]}`, `submitRequest: "input" must be an object`},
		{"submitRequest", `{"input":{"roleId":"r"}}`, `requesterUserId must be a non-empty string`},
		{"submitRequest", `{"input":{"requesterUserId":5,"roleId":"r"}}`, `requesterUserId must be a string`},
		{"submitRequest", `{"input":{"requesterUserId":"w","roleId":""}}`, `roleId must be a non-empty string`},
		{"submitRequest", `{"input":{"requesterUserId":"w","pattern":""}}`, `empty pattern`},
		{"submitRequest", `{"input":{"requesterUserId":"w","roleId":"r","scope":""}}`, "scope ids are `*`"},
		{"submitRequest", `{"input":{"requesterUserId":"w","roleId":"r","proposedExpiresAt":"soon"}}`, `proposedExpiresAt must be a finite epoch-millisecond number — received "soon"`},
		{"submitRequest", `{"input":{"requesterUserId":"w","roleId":"r","proposedExpiresAt":1.5}}`, `proposedExpiresAt must be a finite epoch-millisecond number — received 1.5`},
		{"submitRequest", `{"input":{"requesterUserId":"w","roleId":"r","justification":"x"}}`, `justification must be an object of strings`},
		{"submitRequest", `{"input":{"requesterUserId":"w","roleId":"r","justification":["x"]}}`, `justification must be an object of strings`},
		{"submitRequest", `{"input":{"requesterUserId":"w","roleId":"r","justification":{"why":5}}}`, `justification must be an object of strings`},
		{"decideRequest", `{"requestId":"q","decision":"approved"}`, `decideRequest: "decision" must be an object`},
		{"decideRequest", `{"requestId":5,"decision":{}}`, `decideRequest: "requestId" must be a string`},
		{"decideRequest", `{"requestId":"q","decision":{"deciderUserId":"u"}}`, `decision must be "approved" or "denied"`},
		{"decideRequest", `{"requestId":"q","decision":{"decision":"denied"}}`, `deciderUserId must be a non-empty string`},
		{"decideRequest", `{"requestId":"q","decision":{"deciderUserId":"u","decision":"denied","note":1}}`, `note must be a string`},
		{"cancelRequest", `{"requestId":"q","byUserId":""}`, `byUserId must be a non-empty string`},
		{"listRequests", `{"filter":{"state":null}}`, `state must be a string`},
		{"listRequests", `{"filter":{"requesterUserId":5}}`, `requesterUserId must be a string`},
		{"listRequests", `{"after":"gone"}`, `after names no stored request: "gone"`},
		{"listApproverQueue", `{"approverUserId":""}`, `approverUserId must be a non-empty string`},
	} {
		w.post(c.op, c.body).expectValidation(t, c.message)
	}
}

func TestRequestsPageInTheirOrder(t *testing.T) {
	w := newWorld(t, worldOptions{})
	w.mustOK("createRole", `{"input":{"id":"ask","name":"Ask","patterns":["docs.files.read"],"requestable":{"stages":[{"kind":"named_approvers","roleId":"r"}]}},`+admin+`}`)
	var want []any
	for i := range 5 {
		w.clock.Store(1_700_000_000_000 - int64(i/2)) // later ids are older, two to an instant
		got := w.mustOK("submitRequest", `{"input":{"requesterUserId":"w","roleId":"ask"}}`)
		want = append(want, got["request"].(map[string]any)["id"])
	}
	want = []any{want[4], want[2], want[3], want[0], want[1]}
	for _, limit := range []int{1, 2, 3, 5, 6} {
		var pages []any
		after := ""
		for {
			got := w.mustOK("listRequests", fmt.Sprintf(`{"limit":%d%s}`, limit, after))
			page := got["requests"].([]any)
			for _, row := range page {
				pages = append(pages, row.(map[string]any)["id"])
			}
			if got["next"] == nil {
				break
			}
			if last := page[len(page)-1].(map[string]any)["id"]; len(page) != limit || got["next"] != last {
				t.Fatalf("a page of %d of %d goes on after %v, its last row is %v", len(page), limit, got["next"], last)
			}
			after = `,"after":` + text(got["next"])
		}
		if !slices.Equal(want, pages) {
			t.Errorf("by %d: %v, want %v", limit, pages, want)
		}
	}
}
