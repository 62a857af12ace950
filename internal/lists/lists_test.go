package lists_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/authzhost/authz/internal/lists"
)

var errBroken = errors.New("broken")

// numbers yields 1 to n, and then an error where it is to break.
func numbers(n int, breaks bool) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := 1; i <= n; i++ {
			if !yield(i, nil) {
				return
			}
		}
		if breaks {
			yield(0, errBroken)
		}
	}
}

func told[Row any](list iter.Seq2[Row, error]) string {
	var all []any
	for row, err := range list {
		if err != nil {
			return fmt.Sprint(all, err)
		}
		all = append(all, row)
	}
	return fmt.Sprint(all)
}

func TestLimited(t *testing.T) {
	for n, want := range map[int]string{0: "[1 2 3] broken", 1: "[1]", 3: "[1 2 3]", 4: "[1 2 3] broken"} {
		if got := told(lists.Limited(numbers(3, true), n)); got != want {
			t.Errorf("%d: %s, not %s", n, got, want)
		}
	}
}

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		n      int
		breaks bool
		want   string
	}{
		{0, false, "[]"}, {1, false, "[[1]]"}, {3, false, "[[1] [2 3]]"}, {5, false, "[[1] [2 3] [4 5]]"}, {4, true, "[[1] [2 3]] broken"},
	} {
		size := 0
		if got := told(lists.Pieces(numbers(c.n, c.breaks), func() int { size++; return min(size, 2) })); got != c.want {
			t.Errorf("%d: %s, not %s", c.n, got, c.want)
		}
	}
	for piece := range lists.Pieces(numbers(5, true), func() int { return 2 }) {
		if len(piece) != 2 {
			t.Error(piece)
		}
		break
	}
}
