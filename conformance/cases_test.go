package conformance_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/authzhost/authz/conformance"
)

// Cases are numbered (spec: storage §12); each is here, under its number.
func TestEveryCaseOfTheSpecIsHere(t *testing.T) {
	// What statements a driver sends is seen in the driver's own tests only.
	elsewhere := []string{"I28"}
	ids := map[string]bool{}
	shape := regexp.MustCompile(`^[BEMIS]\d\d[a-z]?$`)
	for _, c := range conformance.Cases() {
		if ids[c.ID] || !shape.MatchString(c.ID) || c.Rule == "" {
			t.Errorf("case %q: %q", c.ID, c.Rule)
		}
		if (c.ID[0] == 'I') != (c.Suite == conformance.SuiteIsolation) {
			t.Errorf("%s is in the suite %s", c.ID, c.Suite)
		}
		ids[c.ID] = true
	}
	for letter, last := range map[string]int{"B": 88, "E": 24, "M": 9, "I": 28} {
		for n := 1; n <= last; n++ {
			if id := fmt.Sprintf("%s%02d", letter, n); !ids[id] && !slices.Contains(elsewhere, id) {
				t.Errorf("there is no case %s", id)
			}
		}
	}
}

func TestSelection(t *testing.T) {
	of := func(s conformance.Selection) []string {
		cases, err := s.Of(conformance.Cases())
		if err != nil {
			t.Fatal(err)
		}
		out := make([]string, len(cases))
		for i, c := range cases {
			out[i] = c.ID
		}
		return out
	}
	if got := of(conformance.Selection{IDs: []string{"b79", "I01"}}); !slices.Equal(got, []string{"B79", "B79f", "I01"}) {
		t.Errorf("%v", got)
	}
	if got := of(conformance.Selection{IDs: []string{"B79f"}}); !slices.Equal(got, []string{"B79f"}) {
		t.Errorf("%v", got)
	}
	if got := of(conformance.Selection{}); len(got) != len(conformance.Cases()) {
		t.Errorf("%d cases", len(got))
	}
	for _, bad := range []conformance.Selection{{IDs: []string{"B00"}}, {Suites: []string{"mesh"}}} {
		if _, err := bad.Of(conformance.Cases()); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
