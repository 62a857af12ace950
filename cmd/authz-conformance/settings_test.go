package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlaceholders(t *testing.T) {
	s, err := parseSettings(`{path: "{dir}/x.db", name: "db_{case}", list: ["{case}", 3], deep: {a: "{dir}"}, n: 1}`)
	if err != nil || !s.inline || !s.fresh() {
		t.Fatalf("%+v, %v", s, err)
	}
	want := any(map[string]any{"path": "/d/x.db", "name": "db_c1", "list": []any{"c1", 3}, "deep": map[string]any{"a": "/d"}, "n": 1})
	if diff := cmp.Diff(want, replaced(s.values, strings.NewReplacer(placeDir, "/d", placeCase, "c1").Replace)); diff != "" {
		t.Error(diff)
	}
	if s, err := parseSettings(`{path: "/fixed"}`); err != nil || s.fresh() {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parseSettings(""); err != nil || s.fresh() || len(s.values) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestQuoting(t *testing.T) {
	for in, want := range map[string]string{"./a-b_c": "./a-b_c", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := quoted(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
