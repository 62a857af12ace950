package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
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
		}
		readAll(t, members)
	})
}

// readAll reads the members as the input of every operation.
func readAll(t *testing.T, members map[string]json.RawMessage) {
	for _, e := range everyEntry(t) {
		for _, strict := range []bool{false, true} {
			o := object{op: e.Op, members: members, problem: &problem{}}
			if strict {
				o = o.strictly()
			}
			in := reflect.New(e.input)
			o.into(in.Elem())
			o.problem.refuseUnknown()
			if err := o.problem.err; err != nil {
				if !utf8.ValidString(err.Error()) {
					t.Fatalf("a message that is no text: %q", err)
				}
				continue
			}
			if body, err := json.Marshal(in.Interface()); err == nil && bytes.Contains(body, []byte(`\u0000`)) && e.Op != "publishCatalog" && e.Op != "publishImports" {
				t.Fatalf("%s took U+0000: %s", e.Op, body)
			}
		}
	}
}

func everyEntry(t testing.TB) []entry {
	table, err := entries()
	if err != nil {
		t.Fatal(err)
	}
	all := append(localEntries(), hostEntries()...)
	for _, e := range table {
		all = append(all, e)
	}
	return all
}
