package catalogdiff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/authzhost/authz/internal/catalogdiff"
)

func TestDocuments(t *testing.T) {
	const before = `{"leaves":[{"key":"a.b","label":"B","scopes":["a.x"]},{"key":"a.c"},{"key":"a.d"}],"groups":[{"path":"a","label":"A"}],
		"scopeTypes":[{"type":"a.x"}],"version":1,"policy":{"p":1,"q":2},"gone":true}`
	const after = `{"policy":{"q":2,"p":1},"leaves":[{"key":"a.e"},{"scopes":["a.y"],"key":"a.b"},{"key":"a.c"}],"groups":[{"label":"A","path":"a"}],
		"scopeTypes":[{"type":"a.x","parent":"a.x"}],"version":2,"new":[]}`
	for name, c := range map[string]struct {
		from, to string
		want     []string
	}{
		"nothing": {before, before, nil},
		"some": {before, after, []string{"changed permission a.b [label scopes]", "removed permission a.d []", "added permission a.e []",
			"changed scope type a.x [parent]", "removed section gone []", "added section new []", "changed section version []"}},
		"everything": {`{}`, `{"leaves":[{"key":"a.b"}],"policy":1}`, []string{"added permission a.b []", "added section policy []"}},
	} {
		changes, err := catalogdiff.Documents(json.RawMessage(c.from), json.RawMessage(c.to))
		if err != nil || changes == nil {
			t.Fatalf("%s: %v, %v", name, changes, err)
		}
		var got []string
		for _, one := range changes {
			got = append(got, fmt.Sprint(one.Change, " ", one.Kind, " ", one.Name, " ", one.Members))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, broken := range []string{``, `[]`, `{"leaves":7}`, `{"leaves":[7]}`} {
		for _, pair := range [][2]string{{broken, `{}`}, {`{}`, broken}} {
			if _, err := catalogdiff.Documents(json.RawMessage(pair[0]), json.RawMessage(pair[1])); err == nil {
				t.Errorf("%q is a document", broken)
			}
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[1,2]}`, `{ "b": [1, 2], "a": 1.0 }`, true}, {`[1,2]`, `[2,1]`, false}, {`{`, `{`, false}, {`null`, `{}`, false},
	} {
		if catalogdiff.Same([]byte(c.a), []byte(c.b)) != c.same {
			t.Errorf("%s and %s: not %v", c.a, c.b, c.same)
		}
	}
}
