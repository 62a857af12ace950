package hosted

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
)

type stage struct {
	Layer string          `json:"layer" enum:"a,b"`
	Terms json.RawMessage `json:"terms,omitempty"`
}

type sample struct {
	Name     string           `json:"name" min:"1" max:"5"`
	Count    *int64           `json:"count,omitempty" min:"0" max:"9"`
	On       bool             `json:"on,omitempty"`
	Cleared  Nullable[string] `json:"cleared"`
	Stages   []stage          `json:"stages,omitempty" max:"2"`
	Patterns []string         `json:"patterns,omitempty"`
}

func TestBodiesAreReadStrictly(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for name, c := range map[string]struct{ body, path, message string }{
		"no object":            {`[]`, "", "object"},
		"null":                 {`null`, "", "object"},
		"nothing":              {``, "", "malformed"},
		"two values":           {`{"name":"x"} {}`, "", "nothing after"},
		"missing":              {`{}`, "name", "required"},
		"null where needed":    {`{"name":null}`, "name", "null"},
		"number for text":      {`{"name":1}`, "name", "string"},
		"text for number":      {`{"name":"x","count":"1"}`, "count", "integer"},
		"float for number":     {`{"name":"x","count":1.0}`, "count", "integer"},
		"exponent":             {`{"name":"x","count":1e0}`, "count", "integer"},
		"text for flag":        {`{"name":"x","on":"true"}`, "on", "true or false"},
		"out of range":         {`{"name":"x","count":10}`, "count", "0 to 9"},
		"too long":             {`{"name":"123456"}`, "name", "1 to 5"},
		"empty":                {`{"name":""}`, "name", "1 to 5"},
		"unknown":              {`{"name":"x","other":1}`, "other", "knows: it knows"},
		"another case":         {`{"Name":"x"}`, "name", "required"},
		"given twice":          {`{"name":"x","name":"y"}`, "name", "twice"},
		"twice, by escape":     {`{"name":"x","n\u0061me":"y"}`, "name", "twice"},
		"twice, inside raw":    {`{"name":"x","stages":[{"layer":"a","terms":{"b":1,"b":2}}]}`, "stages[0].terms.b", "twice"},
		"unknown, inside":      {`{"name":"x","stages":[{"layer":"a","x":1}]}`, "stages[0].x", "knows"},
		"misspelt":             {`{"name":"x","cuont":1}`, "cuont", "knows: did you mean count?"},
		"misspelt, inside":     {`{"name":"x","stages":[{"layer":"a","trems":1}]}`, "stages[0].trems", "knows: did you mean terms?"},
		"no such word":         {`{"name":"x","stages":[{"layer":"c"}]}`, "stages[0].layer", "one of"},
		"too many":             {`{"name":"x","stages":[{"layer":"a"},{"layer":"a"},{"layer":"a"}]}`, "stages", "elements"},
		"null in a list":       {`{"name":"x","patterns":[null]}`, "patterns[0]", "string"},
		"deep":                 {`{"name":"x","stages":[{"layer":"a","terms":` + deep + `}]}`, "", "deeper"},
		"half a character":     {`{"name":"\ud800"}`, "", "surrogate"},
		"not UTF-8":            {"{\"name\":\"\xff\"}", "", "UTF-8"},
		"trailing comma":       {`{"name":"x",}`, "", "malformed"},
		"a constructor's name": {`{"name":"x","__proto__":{}}`, "__proto__", "knows"},
	} {
		t.Run(name, func(t *testing.T) {
			var in sample
			err := decode([]byte(c.body), &in)
			if err == nil {
				t.Fatalf("read as %+v", in)
			}
			issues := err.Fields["issues"].([]fault.Issue)
			if err.Code != "invalid_request" || issues[0].Path != c.path || !strings.Contains(issues[0].Message, c.message) {
				t.Errorf("got %s %+v, want an issue at %q that says %q", err.Code, issues, c.path, c.message)
			}
		})
	}
}

func TestAbsentNullAndValueAreThreeThings(t *testing.T) {
	for body, want := range map[string]Nullable[string]{
		`{"name":"x"}`:                 {},
		`{"name":"x","cleared":null}`:  {Set: true},
		`{"name":"x","cleared":"yes"}`: {Set: true, Value: new("yes")},
	} {
		var in sample
		if err := decode([]byte(body), &in); err != nil {
			t.Fatal(err, err.Fields)
		}
		if diff := cmp.Diff(want, in.Cleared); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	var in sample
	if err := decode([]byte(`{"name":"x","count":null,"stages":null}`), &in); err != nil || in.Count != nil || in.Stages != nil {
		t.Errorf("null for an optional member must read as absent: %+v, %v", in, err)
	}
}

func TestEveryIssueIsToldAtMostTwenty(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`{"name":"x"`)
	for i := range 30 {
		b.WriteString(`,"x` + string(rune('a'+i%26)) + string(rune('a'+i/26)) + `":1`)
	}
	b.WriteString("}")
	var in sample
	err := decode(b.Bytes(), &in)
	if n := len(err.Fields["issues"].([]fault.Issue)); n != 20 {
		t.Errorf("%d issues", n)
	}
}

type query struct {
	Org  string   `path:"org"`
	Kind string   `query:"kind,omitempty" enum:"a,b"`
	Mine bool     `query:"mine,omitempty" flag:"01"`
	On   *bool    `query:"on,omitempty"`
	IDs  []string `query:"ids,omitempty"`
	Key  string   `query:"key" min:"1"`
	Paging
}

func TestQueriesAreReadStrictly(t *testing.T) {
	for raw, parameter := range map[string]string{
		"":                   "key",
		"key=":               "key",
		"key=x&key=y":        "key",
		"key=x&other=1":      "other",
		"key=x&Kind=a":       "Kind",
		"key=x&kind=c":       "kind",
		"key=x&mine=true":    "mine",
		"key=x&on=1":         "on",
		"key=x&limit=0":      "limit",
		"key=x&limit=1001":   "limit",
		"key=x&limit=%2B1":   "limit",
		"key=x&limit=01":     "limit",
		"key=x&limit=1.0":    "limit",
		"key=x%00":           "key",
		"key=%ff":            "key",
		"key=%zz":            "query",
		"key=x;mine=1":       "query",
		"key=x&ids=a,,b":     "ids",
		"key=x&cursor[]=foo": "cursor[]",
	} {
		var in query
		err := parameters(map[string]string{"org": "acme"}, raw, &in)
		if err == nil || err.Code != "invalid_parameter" || err.Fields["parameter"] != parameter {
			t.Errorf("%q: got %v, want invalid_parameter of %s", raw, err, parameter)
		}
	}
	var misspelt query
	if err := parameters(map[string]string{"org": "acme"}, "key=x&limt=5", &misspelt); err == nil || !strings.Contains(err.Error(), "did you mean limit?") {
		t.Errorf("a misspelt parameter: %v", err)
	}
	var in query
	if err := parameters(map[string]string{"org": "acme"}, "key=a%2Bb+c&mine=1&on=false&ids=x,y&limit=1000", &in); err != nil {
		t.Fatal(err)
	}
	want := query{Org: "acme", Mine: true, On: new(false), IDs: []string{"x", "y"}, Key: "a+b c", Paging: Paging{Limit: 1000}}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Error(diff)
	}
}

func TestPathsAreMatchedAsTheyWereSent(t *testing.T) {
	var tree table
	for _, path := range []string{"/orgs", "/orgs/{org}", "/orgs/{org}/requests", "/orgs/{org}/requests/queue", "/orgs/{org}/requests/{id}"} {
		e := &endpoint{Method: "GET", Path: path}
		for _, m := range parameterName.FindAllStringSubmatch(path, -1) {
			e.parameters = append(e.parameters, m[1])
		}
		tree.routes.add(e)
	}
	for path, want := range map[string]string{
		"/api/v1/orgs":                         "/orgs",
		"/api/v1/orgs/acme":                    "/orgs/{org}",
		"/api/v1/orgs/acme/requests/queue":     "/orgs/{org}/requests/queue",
		"/api/v1/orgs/acme/requests/q%75eue":   "/orgs/{org}/requests/{id}", // an id, however it reads decoded
		"/api/v1/orgs/..":                      "/orgs/{org}",
		"/api/v1/orgs/%2e%2e":                  "/orgs/{org}",
		"/api/v1/orgs/a%252fb":                 "/orgs/{org}",
		"/api/v1/orgs/":                        "",
		"/api/v1/orgs//requests":               "",
		"/api/v1/orgs/acme/":                   "",
		"/api/v1//orgs":                        "",
		"/api/v1/Orgs":                         "",
		"/api/v1/orgs/acme/requests/a/b":       "",
		"/api/v1":                              "",
		"/api/v2/orgs":                         "",
		"/api/v1/orgs/acme/../other/requests":  "",
		"/api/v1/./orgs":                       "",
		"/api/v1/orgs/acme%2frequests":         "invalid_parameter",
		"/api/v1/orgs/a%00b":                   "invalid_parameter",
		"/api/v1/orgs/a%0ab":                   "invalid_parameter",
		"/api/v1/orgs/%ff":                     "invalid_parameter",
		"/api/v1/orgs/%zz":                     "invalid_parameter",
		"/api/v1/orgs/acme;x=1/requests/queue": "/orgs/{org}/requests/queue",
	} {
		e, values, bad, err := tree.routes.find("GET", path)
		got := ""
		switch {
		case bad != nil:
			got = bad.Code
		case err == nil:
			got = e.Path
		}
		if got != want {
			t.Errorf("%s: found %q (%v), want %q", path, got, err, want)
		}
		if path == "/api/v1/orgs/a%252fb" && values["org"] != "a%2fb" {
			t.Errorf("decoded more than once: %q", values["org"])
		}
	}
	if _, _, _, err := tree.routes.find("POST", "/api/v1/orgs"); err.Code != "method_not_allowed" || !reflect.DeepEqual(err.Fields["allow"], []string{"GET", "HEAD"}) {
		t.Errorf("POST: %v %v", err, err.Fields)
	}
}

func testKeys(t *testing.T) *secret.Keys {
	t.Helper()
	keys, err := secret.NewKeys([][]byte{bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestCursorsHoldForOnePathOneFilterAndADay(t *testing.T) {
	now := int64(1_000_000)
	c := cursors{keys: testKeys(t), clock: func() int64 { return now }}
	scope := func(org, raw string) []byte {
		return cursorScope("/orgs/{org}/seats", map[string]string{"org": org}, []string{"org"}, raw)
	}
	text, err := c.write(scope("acme", "kind=a&limit=3"), "u_7")
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string][]byte{"the same": scope("acme", "kind=a&limit=3"), "another limit": scope("acme", "cursor=x&limit=9&kind=a")} {
		if after, err := c.read(at, *text); err != nil || after != "u_7" {
			t.Errorf("%s: %q, %v", name, after, err)
		}
	}
	forged := []byte(*text)
	forged[len(forged)-2] ^= 1
	for name, try := range map[string]struct {
		scope []byte
		text  string
	}{
		"another org":    {scope("other", "kind=a"), *text},
		"another filter": {scope("acme", "kind=b"), *text},
		"no filter":      {scope("acme", ""), *text},
		"forged":         {scope("acme", "kind=a"), string(forged)},
		"cut":            {scope("acme", "kind=a"), (*text)[:20]},
		"nonsense":       {scope("acme", "kind=a"), "%%%"},
	} {
		if _, err := c.read(try.scope, try.text); err == nil || err.Code != "invalid_cursor" {
			t.Errorf("%s: %v", name, err)
		}
	}
	now += cursorLifetimeMs + 1
	if _, err := c.read(scope("acme", "kind=a"), *text); err == nil {
		t.Error("a cursor of yesterday was read")
	}
	if next, err := c.write(nil, ""); next != nil || err != nil {
		t.Error("the end has no cursor")
	}
}

func TestExportsAreBoundedPerOrg(t *testing.T) {
	l := newLimits(func() int64 { return 0 })
	first, _ := l.export("acme")
	_, _ = l.export("acme")
	if _, err := l.export("acme"); err == nil || statusOf(err) != http.StatusTooManyRequests {
		t.Errorf("the third: %v", err)
	}
	if _, err := l.export("other"); err != nil {
		t.Error("another org shares the bound")
	}
	first()
	if _, err := l.export("acme"); err != nil {
		t.Error("refused after one ended")
	}
}

type created struct {
	Thing  struct{ Etag string } `json:"thing"`
	Secret *string               `json:"secret" once:"true"`
}

func TestASecretIsNeverKept(t *testing.T) {
	out := created{Secret: new("s3cret")}
	out.Thing.Etag = `"7"`
	if tag := etagOf(reflect.ValueOf(out)); tag != `"7"` {
		t.Errorf("etag %q", tag)
	}
	kept, err := withheld(out, []byte("x"))
	if err != nil || string(kept) != `{"thing":{"Etag":"\"7\""},"secret":null,"secretWithheld":true}` {
		t.Errorf("kept %s, %v", kept, err)
	}
	if *out.Secret != "s3cret" {
		t.Error("the answer itself lost its secret")
	}
	if kept, _ := withheld(created{}, []byte("x")); string(kept) != "x" {
		t.Errorf("an answer without a secret was changed: %s", kept)
	}
}
