package service

import (
	"cmp"
	"iter"
	"slices"
)

// Page asks for at most Limit rows after a position that an earlier List named; ""
// is the beginning.
type Page struct {
	After string
	Limit int
}

// List is one page of rows. Next is the position after it, "" at the end; it is for
// an authenticated cursor, not for clients to read.
type List[T any] struct {
	Rows []T
	Next string
}

// listed cuts a page out of all rows in the order of their positions.
func listed[T any](rows []T, position func(T) string, p Page) List[T] {
	slices.SortFunc(rows, func(a, b T) int { return cmp.Compare(position(a), position(b)) })
	from, found := slices.BinarySearchFunc(rows, p.After, func(row T, after string) int { return cmp.Compare(position(row), after) })
	if found {
		from++
	}
	out := List[T]{Rows: rows[from:]}
	if len(out.Rows) > p.Limit {
		out.Rows = out.Rows[:p.Limit]
		out.Next = position(out.Rows[p.Limit-1])
	}
	if out.Rows == nil {
		out.Rows = []T{}
	}
	return out
}

// taken reads the page of those rows of a stream, already in order, that are
// wanted.
func taken[T any](rows iter.Seq2[T, error], wanted func(T) bool, position func(T) string, p Page) (List[T], error) {
	out := List[T]{Rows: []T{}}
	for row, err := range rows {
		if err != nil {
			return List[T]{}, err
		}
		if !wanted(row) {
			continue
		}
		if len(out.Rows) == p.Limit {
			out.Next = position(out.Rows[p.Limit-1])
			break
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}
