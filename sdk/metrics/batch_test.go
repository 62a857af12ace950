package metrics_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

const (
	wireObservation = `{"at":1764547200123,"shape":"can","gate":true,"decision":"allow","permission":"docs.files.delete","anyOf":false,` +
		`"scopeType":"docs.folder","principal":{"userId":"u1"},"matchedGrantIds":["g9"],"soleMatchGrantId":"g9",` +
		`"matchedRevokeIds":[],"roleIds":["r_editor"],"implied":false,"fresh":true,"snapshot":false,"sampleRate":1}`
	wireNulls = `{"at":1,"shape":"heldKeys","gate":false,"decision":"deny","permission":null,"anyOf":false,` +
		`"scopeType":"*","scope":"x:1","principal":{"serviceId":"s"},"matchedGrantIds":[],"soleMatchGrantId":null,` +
		`"matchedRevokeIds":["r"],"roleIds":[],"implied":true,"fresh":false,"snapshot":true,"externalPermission":true,"sampleRate":0.25}`
	wireBatch = `{"instanceId":"web-3","windowStart":1764547200000,"windowEnd":1764547260000,` +
		`"checks":[{"permission":"docs.files.read","decision":"allow","shape":"can","gate":true,"scopeType":"docs.doc","observed":3,"estimated":12}],` +
		`"grants":[{"rowId":"g9","matched":2,"soleMatch":1,"estimatedMatched":2,"estimatedSoleMatch":1,"recentPrincipals":["user:u1","service:importer"]}],` +
		`"revokes":[],"roles":[],"principals":{"distinct":2,"overflowed":false},"dropped":0}`
)

func TestWireFormsSurviveReadingAndWriting(t *testing.T) {
	for text, value := range map[string]any{wireObservation: new(metrics.CheckObservation), wireNulls: new(metrics.CheckObservation), wireBatch: new(metrics.Batch)} {
		decode(t, []byte(text), value)
		again, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(again)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		o := drawObservation().Draw(t, "o")
		var again metrics.CheckObservation
		text, err := json.Marshal(o)
		if err == nil {
			err = json.Unmarshal(text, &again)
		}
		if diff := cmp.Diff(o, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v, -want +got:\n%s", err, diff)
		}
	})
}

func TestEmptyListsAreListsOnTheWire(t *testing.T) {
	for _, value := range []any{metrics.Batch{}, metrics.RowCounter{}, metrics.CheckObservation{}} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		nulls := strings.Count(string(text), "null") - strings.Count(string(text), `"permission":null`) - strings.Count(string(text), `"soleMatchGrantId":null`)
		if nulls != 0 {
			t.Errorf("%s", text)
		}
	}
}

func TestABatchThatLacksSomethingIsRefused(t *testing.T) {
	var whole map[string]any
	decode(t, []byte(wireBatch), &whole)
	refused := func(what string) {
		t.Helper()
		text, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		var b metrics.Batch
		if err := json.Unmarshal(text, &b); authz.CodeOf(err) != authz.CodeValidation {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(metrics.Batch{}, b); diff != "" {
			t.Errorf("%s: was read all the same:\n%s", what, diff)
		}
	}
	objects := map[string]map[string]any{
		"batch":      whole,
		"checks":     whole["checks"].([]any)[0].(map[string]any),
		"grants":     whole["grants"].([]any)[0].(map[string]any),
		"principals": whole["principals"].(map[string]any),
	}
	members := 0
	for name, object := range objects {
		for member, value := range object {
			members++
			delete(object, member)
			refused(name + " without " + member)
			for _, wrong := range []any{nil, map[string]any{"x": 1}} {
				object[member] = wrong
				if wrong == nil || member != "principals" {
					refused(name + " with a wrong " + member)
				}
			}
			object[member] = value
		}
	}
	if members != 9+7+6+2 {
		t.Errorf("tried %d members", members)
	}
}

func TestABatchWithANumberThatIsNotFiniteOrOfAnotherFormIsRefused(t *testing.T) {
	for _, text := range []string{
		strings.Replace(wireBatch, `"estimated":12`, `"estimated":1e999`, 1),
		strings.Replace(wireBatch, `"dropped":0`, `"dropped":1e400`, 1),
		strings.Replace(wireBatch, `"dropped":0`, `"dropped":"7"`, 1),
		strings.Replace(wireBatch, `"revokes":[]`, `"revokes":[null]`, 1),
		`[]`, `null`, `"x"`,
	} {
		var b metrics.Batch
		if err := json.Unmarshal([]byte(text), &b); authz.CodeOf(err) != authz.CodeValidation {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAttributionNamesEachRoleOnce(t *testing.T) {
	var o metrics.CheckObservation
	o.Attribute([]authz.Grant{{ID: "g1", RoleID: "b"}, {ID: "g2", Pattern: "a.*"}, {ID: "g3", RoleID: "a"}, {ID: "g4", RoleID: "b"}, {ID: "g5", RoleID: "c", Pattern: "a.b"}})
	want := metrics.CheckObservation{MatchedGrantIDs: []string{"g1", "g2", "g3", "g4", "g5"}, RoleIDs: []string{"b", "a"}}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
