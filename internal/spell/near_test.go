package spell_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/internal/spell"
)

// plainDistance is the textbook definition.
func plainDistance(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	cost := 1
	if a[0] == b[0] {
		cost = 0
	}
	return min(plainDistance(a[1:], b)+1, plainDistance(a, b[1:])+1, plainDistance(a[1:], b[1:])+cost)
}

func TestEditDistanceEqualsItsDefinitionUpToTheLimit(t *testing.T) {
	name := rapid.StringOfN(rapid.SampledFrom([]rune("abé.")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, limit := name.Draw(t, "a"), name.Draw(t, "b"), rapid.IntRange(0, 7).Draw(t, "limit")
		want := min(plainDistance([]rune(a), []rune(b)), limit+1)
		if got := spell.EditDistance(a, b, limit); got != want {
			t.Fatalf("EditDistance(%q, %q, %d) = %d, want %d", a, b, limit, got, want)
		}
	})
}

func TestNearestSuggestsWhatWasProbablyMeant(t *testing.T) {
	known := []string{"listen", "ops_listen", "socket", "tls"}
	for word, want := range map[string]string{"lisen": "listen", "sockte": "socket", "tsl": "tls", "database": "", "": "", "opslisten": "ops_listen", "x": ""} {
		if got := spell.Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
