package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestABodyIsEmptyOrOneJSONObject(t *testing.T) {
	deep := func(n int) string {
		return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	for name, c := range map[string]struct {
		body string
		want map[string]string // nil: refused
	}{
		"empty is an object without members":     {"", map[string]string{}},
		"an empty object":                        {"{}", map[string]string{}},
		"white space around":                     {" \n{ \"a\" : 1 }\t", map[string]string{"a": "1"}},
		"of duplicates the last counts":          {`{"a":1,"a":2}`, map[string]string{"a": "2"}},
		"names keep their case":                  {`{"a":1,"A":2}`, map[string]string{"a": "1", "A": "2"}},
		"prototype names are data":               {`{"__proto__":{"a":1}}`, map[string]string{"__proto__": `{"a":1}`}},
		"escaped names":                          {`{"\u0061":1}`, map[string]string{"a": "1"}},
		"a whole surrogate pair":                 {`{"a":"\ud83d\ude00"}`, map[string]string{"a": `"\ud83d\ude00"`}},
		"an escaped backslash before u":          {`{"a":"\\ud83d"}`, map[string]string{"a": `"\\ud83d"`}},
		"brackets in strings do not nest":        {`{"a":"` + strings.Repeat("[", 500) + `"}`, map[string]string{"a": `"` + strings.Repeat("[", 500) + `"`}},
		"nested 100 deep":                        {deep(100), map[string]string{"a": strings.Repeat("[", 99) + strings.Repeat("]", 99)}},
		"nested 101 deep":                        {deep(101), nil},
		"nested a million deep":                  {strings.Repeat("[", 1_000_000), nil},
		"only white space":                       {" \n", nil},
		"null":                                   {"null", nil},
		"a list":                                 {"[]", nil},
		"a number":                               {"5", nil},
		"a string":                               {`"x"`, nil},
		"cut off":                                {`{"a":`, nil},
		"cut off in a string":                    {`{"a":"x`, nil},
		"cut off in an escape":                   {`{"a":"\`, nil},
		"trailing data":                          {`{} {}`, nil},
		"trailing garbage":                       {`{}x`, nil},
		"a comment":                              {`{/**/}`, nil},
		"a trailing comma":                       {`{"a":1,}`, nil},
		"single quotes":                          {`{'a':1}`, nil},
		"NaN":                                    {`{"a":NaN}`, nil},
		"a byte order mark":                      {"\ufeff{}", nil},
		"invalid UTF-8":                          {"{\"a\":\"\xff\"}", nil},
		"invalid UTF-8 in a name":                {"{\"\xc3\":1}", nil},
		"half a surrogate pair":                  {`{"a":"\ud83d"}`, nil},
		"the wrong half of a surrogate pair":     {`{"a":"\ude00"}`, nil},
		"two first halves":                       {`{"a":"\ud83d\ud83d"}`, nil},
		"half a pair, then something else":       {`{"a":"\ud83dx\ude00"}`, nil},
		"half a pair in a name":                  {`{"\udc00":1}`, nil},
		"a raw control character in a string":    {"{\"a\":\"\n\"}", nil},
		"a number with a leading zero":           {`{"a":01}`, nil},
		"an unknown escape":                      {`{"a":"\x"}`, nil},
		"brackets that do not match":             {`{"a":[}]`, nil},
		"an escape of four characters, not hex":  {`{"a":"\uzzzz"}`, nil},
		"form data":                              {`a=1`, nil},
		"an object inside a list":                {`[{}]`, nil},
		"white space that JSON does not know":    {"\u00a0{}", nil},
		"an object after another line of object": {"{}\n{}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			members, err := parseBody([]byte(c.body))
			if (err != nil) != (c.want == nil) {
				t.Fatalf("error %v, want members %v", err, c.want)
			}
			got := map[string]string{}
			for k, v := range members {
				got[k] = string(v)
			}
			if err == nil && !maps.Equal(got, c.want) {
				t.Errorf("members %v, want %v", got, c.want)
			}
		})
	}
}

// FuzzReader feeds whole bodies through parsing and every reader method: none
// may panic, what is accepted must be JSON to encoding/json too, and strings come
// out as valid text.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{``, `{}`, `null`, `{"input":{"subject":"user:u","expiresAt":1.5e3,"scope":""}}`,
		`{"a":"\ud83d\ude00","input":[1,{"a":null}]}`, `{"a":"\ud83d"}`, `{"input":{"at":-0,"list":["x",1]}}`,
		`{"input":9007199254740993}`, `{"input":1e400}`, "{\"a\":\"\xff\"}", `{"a":1,"a":{"b":[[[]]]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		members, err := parseBody(body)
		if err != nil {
			return
		}
		if len(body) > 0 && !json.Valid(body) {
			t.Fatalf("accepted what is no JSON: %q", body)
		}
		for name, raw := range members {
			if !utf8.ValidString(name) || !json.Valid(raw) {
				t.Fatalf("member %q: %q", name, raw)
			}
			readAll(t, members, name, 0)
		}
	})
}

func readAll(t *testing.T, members map[string]json.RawMessage, field string, depth int) {
	fresh := func() object { return object{op: "op", members: members, problem: &problem{}} }
	for _, read := range []func(o object) any{
		func(o object) any { return o.text(field) },
		func(o object) any { return o.filterText(field) },
		func(o object) any { return o.id(field) },
		func(o object) any { return o.scope(field) },
		func(o object) any { return o.targetScope(field) },
		func(o object) any { return o.flag(field) },
		func(o object) any { return o.integer(field, 0) },
		func(o object) any { return o.filterInteger(field) },
		func(o object) any { return o.expiry(field) },
		func(o object) any { return o.texts(field) },
		func(o object) any { return o.objects(field) },
		func(o object) any { return o.keys(field) },
		func(o object) any { return o.textMap(field) },
		func(o object) any { return o.textLists(field) },
		func(o object) any { return directorySnapshot(o.nested(field)) },
		func(o object) any { return roleUpdate(o.nested(field)) },
		func(o object) any { return auditQuery(o.nested(field)) },
	} {
		o := fresh()
		value := read(o)
		if texts, ok := value.([]string); ok && !slices.ContainsFunc(texts, utf8.ValidString) && len(texts) > 0 {
			t.Fatalf("invalid text out of %q", members[field])
		}
		if err := o.problem.err; err != nil && !utf8.ValidString(err.Error()) {
			t.Fatalf("a message that is no text: %q", err)
		}
	}
	o := fresh()
	for name := range o.nested(field).members {
		if depth < 5 {
			readAll(t, o.nested(field).members, name, depth+1)
		}
	}
}
