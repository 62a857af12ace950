package relational_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
)

// A list is read as encoding/json reads it, whoever wrote it.
func TestStringsAreReadAsTheyAreSpelt(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"`, `","`, `\`, `\\"`, "[", "]", `["`, `"]`, ",", " ", "", "a", "null", "\x7f", "\n", "é", "\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.StringN(0, 5, -1), 0, 5).Draw(t, "list")
		column, err := relational.EncodeStrings(list)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := relational.DecodeStrings([]byte(column)); err != nil || len(got) != len(list) || len(list) > 0 && !reflect.DeepEqual(got, list) {
			t.Fatalf("%s: %q, %v", column, got, err)
		}

		text := ""
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			text += piece.Draw(t, "piece")
		}
		if rapid.Bool().Draw(t, "quoted") {
			text = `["` + text + `"]`
		}
		var want []string
		wantErr := json.Unmarshal([]byte(text), &want)
		got, err := relational.DecodeStrings([]byte(text))
		if (err != nil) != (wantErr != nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %q, %v, not %q, %v", text, got, err, want, wantErr)
		}
	})
}

// More provenances than are remembered, again and again, each its own.
func TestProvenancesAreNotMistakenForOneAnother(t *testing.T) {
	for range 3 {
		for i := range 2000 {
			want := authz.Provenance{Kind: authz.ProvenanceAdmin, ActorUserID: fmt.Sprint("u", i)}
			column, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				g, err := relational.Grants.Scan(func(dest ...any) error {
					*dest[6].(*[]byte) = append([]byte(nil), column...)
					return nil
				})
				if err != nil || g.Provenance != want {
					t.Fatalf("%+v, %v, not %+v", g.Provenance, err, want)
				}
			}
		}
	}
	broken := func(dest ...any) error {
		*dest[6].(*[]byte) = []byte(`{"kind":`)
		return nil
	}
	for range 2 {
		if _, err := relational.Grants.Scan(broken); err == nil {
			t.Fatal("a broken provenance was read")
		}
	}
}
