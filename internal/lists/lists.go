package lists

import "iter"

// Limited are the first n rows of a list, all of them for 0.
func Limited[Row any](list iter.Seq2[Row, error], n int) iter.Seq2[Row, error] {
	if n <= 0 {
		return list
	}
	return func(yield func(Row, error) bool) {
		left := n
		for row, err := range list {
			if left--; !yield(row, err) || left == 0 {
				return
			}
		}
	}
}

// Pieces gathers the rows of a list in pieces of a size, which is asked for each of them.
// The list ends with its first error.
func Pieces[Row any](list iter.Seq2[Row, error], size func() int) iter.Seq2[[]Row, error] {
	return func(yield func([]Row, error) bool) {
		var some []Row
		full := size()
		for row, err := range list {
			if err != nil {
				yield(nil, err)
				return
			}
			if some = append(some, row); len(some) == full {
				if !yield(some, nil) {
					return
				}
				some, full = nil, size()
			}
		}
		if len(some) > 0 {
			yield(some, nil)
		}
	}
}
