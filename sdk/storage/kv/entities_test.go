package kv

import (
	"slices"
	"testing"
)

func TestPlacesRunBackwards(t *testing.T) {
	var places []string
	for _, at := range []int64{-1 << 53, -256, -1, 0, 1, 255, 256, 1 << 53} {
		for _, id := range []string{"", "\x01", "a", "a-b", "ab", "b", "\x7f", "é", "\U0010ffff"} {
			places = append(places, place(at, id))
		}
	}
	if !slices.IsSorted(places) {
		t.Fatal("the places are not in order")
	}
	for i, place := range places {
		if got := forwards(backwards(place) + "\x00id"); got != place {
			t.Errorf("%q came back as %q", place, got)
		}
		if i > 0 && backwards(place) >= backwards(places[i-1]) {
			t.Errorf("%q does not come before %q", place, places[i-1])
		}
	}
}
