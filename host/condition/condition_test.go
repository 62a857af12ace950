package condition_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/condition"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

func testCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	input, err := catalog.ParseYAML([]byte("namespaces: [docs]\npermissions: {docs.bills.pay: {requiresCondition: true}, docs.bills.void: {requiresCondition: true}, docs.bills.read: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(input)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var declared = map[string]string{"amount": "int", "rate": "double", "region": "string", "urgent": "bool", "at": "timestamp", "tags": "list(string)", "numbers": "list(int)"}

func set(t testing.TB, expression string) *condition.Set {
	t.Helper()
	s, err := condition.New(&condition.File{Context: declared, Conditions: map[string]string{"docs.bills.pay": expression}}, testCatalog(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func judge(s *condition.Set, p authz.Principal, raw string) (bool, error) {
	in, err := s.Read(json.RawMessage(raw))
	if err != nil {
		return false, err
	}
	return s.Holds(condition.With(context.Background(), in), "docs.bills.pay", p, "docs.org:1")
}

func TestAConditionJudges(t *testing.T) {
	ann := authz.UserPrincipal("ann")
	for _, c := range []struct {
		expression, context string
		holds               bool
		says                string
	}{
		{`context.amount <= 1000`, `{"amount":1000}`, true, ""},
		{`context.amount <= 1000`, `{"amount":1001}`, false, ""},
		{`context.region in ["eu","us"] && context.urgent`, `{"region":"eu","urgent":true}`, true, ""},
		{`context.tags.exists(t, t == "paid")`, `{"tags":["new","paid"]}`, true, ""},
		{`context.numbers.all(n, n < 3)`, `{"numbers":[1,2,3]}`, false, ""},
		{`context.at < timestamp("2027-01-01T00:00:00Z")`, `{"at":"2026-11-27T00:00:00Z"}`, true, ""},
		{`context.rate > 0.5`, `{"rate":1}`, true, ""},
		{`principal.userId != "ann"`, `{}`, false, ""},
		{`principal.kind == "user" && scope == "docs.org:1" && key == "docs.bills.pay"`, `{}`, true, ""},
		{`context.amount <= 1000`, `{}`, false, "context.amount is missing: the condition of docs.bills.pay needs context.amount"},
		{`context.urgent || context.amount > 1`, `{"urgent":true}`, false, "context.amount is missing"},
		{`1000 / context.amount > 1`, `{"amount":0}`, false, "cannot be judged: division by zero"},
		{`context.amount + 9223372036854775807 > 1`, `{"amount":1}`, false, "cannot be judged: integer overflow"},
		{`context.numbers.all(a, context.numbers.all(b, context.numbers.all(c, a + b + c >= 0)))`, `{"numbers":[` + strings.Repeat("1,", 200) + `1]}`, false, "cannot be judged: operation cancelled: actual cost limit exceeded"},
		{`true`, `{"amount":"5"}`, false, "context.amount must be an integer of 64 bits"},
		{`true`, `{"amount":1.5}`, false, "context.amount must be an integer"},
		{`true`, `{"amount":null}`, false, "context.amount must be an integer"},
		{`true`, `{"tags":["a",1]}`, false, "context.tags must be a list of strings"},
		{`true`, `{"at":"yesterday"}`, false, "context.at must be an instant"},
		{`true`, `{"amont":5}`, false, `context.amont is not declared: did you mean "amount"?`},
		{`true`, `{"amount":5,"amount":6}`, false, "context.amount is given twice"},
		{`true`, `[]`, false, "context must be an object"},
		{`true`, `{"region":"` + strings.Repeat("x", 17_000) + `"}`, false, "at most 16384"},
	} {
		holds, err := judge(set(t, c.expression), ann, c.context)
		switch {
		case c.says == "" && (err != nil || holds != c.holds):
			t.Errorf("%s over %s: %v, %v", c.expression, c.context, holds, err)
		case c.says != "" && (err == nil || holds || !strings.Contains(err.Error(), c.says) || authz.CodeOf(err) != authz.CodeValidation):
			t.Errorf("%s over %.60s: %v, %v, want %s", c.expression, c.context, holds, err, c.says)
		}
	}
}

func TestWhatCannotBeMeantDoesNotCompile(t *testing.T) {
	for name, c := range map[string]struct {
		file condition.File
		says string
	}{
		"a misspelt member":      {condition.File{Context: declared, Conditions: map[string]string{"docs.bills.pay": "context.amont < 5"}}, `conditions.docs.bills.pay: context.amont is not declared: did you mean "amount"?`},
		"a misspelt principal":   {condition.File{Conditions: map[string]string{"docs.bills.pay": "principal.userid == ''"}}, `principal.userid is not declared: did you mean "userId"?`},
		"two types":              {condition.File{Context: declared, Conditions: map[string]string{"docs.bills.pay": "context.amount == 'x'"}}, "1:16: found no matching overload for '_==_'"},
		"no answer":              {condition.File{Context: declared, Conditions: map[string]string{"docs.bills.pay": "context.amount"}}, "is of the type int, and has to be bool"},
		"no expression":          {condition.File{Conditions: map[string]string{"docs.bills.pay": "1 +"}}, "1:4: Syntax error"},
		"a test of presence":     {condition.File{Context: declared, Conditions: map[string]string{"docs.bills.pay": "has(context.amount)"}}, "there is nothing to test"},
		"an unknown variable":    {condition.File{Conditions: map[string]string{"docs.bills.pay": "user == 'x'"}}, "undeclared reference to 'user'"},
		"an undeclared key":      {condition.File{Conditions: map[string]string{"docs.bills.pya": "true"}}, "docs.bills.pay"},
		"a key that needs none":  {condition.File{Conditions: map[string]string{"docs.bills.read": "true"}}, "does not declare the key requiresCondition"},
		"no type":                {condition.File{Context: map[string]string{"amount": "integer"}, Conditions: map[string]string{"docs.bills.pay": "true"}}, `context.amount: "integer" is no type`},
		"no name":                {condition.File{Context: map[string]string{"a.b": "int"}, Conditions: map[string]string{"docs.bills.pay": "true"}}, "context.a.b: a name has letters"},
		"nothing":                {condition.File{}, "at least one is required"},
		"a very long expression": {condition.File{Conditions: map[string]string{"docs.bills.pay": strings.Repeat("true && ", 1000) + "true"}}, "at most 4096"},
		"a very deep expression": {condition.File{Conditions: map[string]string{"docs.bills.pay": strings.Repeat("(", 500) + "true" + strings.Repeat(")", 500)}}, "recursion"},
	} {
		_, err := condition.New(&c.file, testCatalog(t))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
	path := filepath.Join(t.TempDir(), "conditions.yaml")
	if err := os.WriteFile(path, []byte("condition: {docs.bills.pay: 'true'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := condition.Load(path, testCatalog(t)); err == nil || !strings.Contains(err.Error(), "conditions.yaml") || !strings.Contains(err.Error(), `did you mean "conditions"?`) {
		t.Errorf("a misspelt member of the file: %v", err)
	}
}

// Whatever a caller sends is read or refused.
func FuzzContext(f *testing.F) {
	for _, seed := range []string{`{"amount":5}`, `{"tags":["a"],"at":"2026-01-01T00:00:00Z"}`, `{"rate":1e400}`, `{`, `[]`, `null`, `{"amount":9223372036854775808}`, `{}x`} {
		f.Add([]byte(seed))
	}
	s := set(f, `context.amount < 5 || context.tags.exists(t, t.matches("^a+$"))`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := s.Read(raw)
		if err != nil {
			if in != nil || authz.CodeOf(err) != authz.CodeValidation {
				t.Errorf("%s: %v, %v", raw, in, err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Errorf("%q is read as %v", raw, in)
		}
		if holds, err := s.Holds(condition.With(context.Background(), in), "docs.bills.pay", authz.UserPrincipal("u"), "*"); holds && err != nil {
			t.Errorf("%s: an answer beside %v", raw, err)
		}
	})
}

// Whatever stands in a configuration compiles or is refused, and what compiles ends in time.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{"true", "context.amount < 5", "context.tags.all(t, t.matches('(a+)+$'))", "[1,2,3].map(x, [x,x,x].map(y, y * x)).size() > 1", "principal.kind in ['user']", "has(context.amount)", "size(context.region + context.region) > 5"} {
		f.Add(seed)
	}
	c := testCatalog(f)
	f.Fuzz(func(t *testing.T, expression string) {
		s, err := condition.New(&condition.File{Context: declared, Conditions: map[string]string{"docs.bills.pay": expression}}, c)
		if err != nil {
			return
		}
		began := time.Now()
		holds, err := judge(s, authz.UserPrincipal("u"), fmt.Sprintf(`{"amount":7,"rate":0.5,"region":%q,"urgent":true,"at":"2026-11-27T00:00:00Z","tags":["aaaaaaaaaaaaaaaaaaaaaaaaaaaa!"],"numbers":[1,2,3]}`, strings.Repeat("a", 1000)))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %s", expression, took)
		}
		if holds && err != nil {
			t.Errorf("%s: an answer beside %v", expression, err)
		}
	})
}
