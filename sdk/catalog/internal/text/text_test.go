package text_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// written is a JSON text, with line ends and blanks between its tokens.
func written(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", " ", "\n", "\n  "})
	name := func() string {
		b, err := json.Marshal(rapid.StringOfN(rapid.SampledFrom([]rune(`ab.*é"\:#-`+"\n\u2028")), 0, 5, -1).Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	var parts []string
	switch kind {
	case 0:
		return "null"
	case 1:
		return fmt.Sprint(rapid.Bool().Draw(t, "flag"))
	case 2:
		return fmt.Sprint(rapid.IntRange(-1000, 1000).Draw(t, "number"))
	case 3:
		return name()
	case 4:
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			parts = append(parts, space.Draw(t, "space")+written(t, depth-1))
		}
		return "[" + strings.Join(parts, ",") + " ]"
	}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		parts = append(parts, space.Draw(t, "space")+name()+": "+written(t, depth-1))
	}
	return "{" + strings.Join(parts, ",") + " }"
}

func TestJSONAsYAMLIsTheSameTreeWithTheSamePlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(written(t, 4))
		fromJSON, err := text.JSON(b)
		if err != nil {
			t.Fatal(err)
		}
		fromYAML, err := text.YAML(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
			t.Fatalf("%s\n(-JSON +YAML)\n%s", b, diff)
		}
	})
}

func TestRawIsTheTextAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		read, err := text.JSON([]byte(written(t, 4)))
		if err != nil {
			t.Fatal(err)
		}
		again, err := text.JSON(read.Raw())
		if err != nil {
			t.Fatal(err)
		}
		if a, b := string(read.Raw()), string(again.Raw()); a != b {
			t.Fatalf("%s became %s", a, b)
		}
	})
}

func TestErrorsNameTheirPlace(t *testing.T) {
	for name, c := range map[string]struct {
		read func([]byte) (*text.Value, error)
		text string
		want text.Place
	}{
		"JSON":       {text.JSON, "{\n \"a\": 1,\n}", text.Place{Line: 3, Column: 1}},
		"JSON bytes": {text.JSON, "\n\"é\xff\"", text.Place{Line: 2, Column: 3}},
		"YAML":       {text.YAML, "a: 1\nb:\n  <<: {}", text.Place{Line: 3, Column: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.read([]byte(c.text))
			var failed *text.Error
			if !errors.As(err, &failed) || failed.At != c.want {
				t.Errorf("error = %v, want one at %v", err, c.want)
			}
		})
	}
}

func TestFaultsTellFieldValueAndPlace(t *testing.T) {
	const b = `{"name": 7,
 "nmae": "x",
 "flag": true, "flag": false,
 "list": null}`
	shape := text.Shape{What: "a thing", Members: []string{"name", "flag", "list"}}
	read := func(places text.Places) (faults, members []string) {
		root, err := text.JSON([]byte(b))
		if err != nil {
			t.Fatal(err)
		}
		f := text.Fields{Places: places, Under: "things."}
		for m := range f.Object("thing", root, shape) {
			members = append(members, m.Name)
			if m.Name == "name" {
				f.Text("thing.name", m.Value)
			}
		}
		for _, fault := range f.Faults {
			faults = append(faults, fmt.Sprintf("%d:%d %s", fault.At.Line, fault.At.Column, fault))
		}
		return faults, members
	}
	places := text.Places{}
	faults, members := read(places)
	if diff := cmp.Diff([]string{
		"1:2 thing.name must be a string — got 7",
		`2:2 thing.nmae is not a field of a thing. Did you mean "name"?`,
		"3:16 thing.flag is given more than once",
	}, faults); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"name", "flag"}, members); diff != "" {
		t.Errorf("members (-want +got)\n%s", diff)
	}
	if at, ok := places.Within("things.thing.flag.deeper[3]"); !ok || at != (text.Place{Line: 3, Column: 2}) {
		t.Errorf("flag lies at %v", at)
	}
	faults, members = read(nil)
	if len(faults) != 2 || len(members) != 3 {
		t.Errorf("without places: %v of %v", faults, members)
	}
}
