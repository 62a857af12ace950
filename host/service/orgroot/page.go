package orgroot

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Page and List are those of the core: the next position of a list is for an
// authenticated cursor.
type (
	Page        = service.Page
	List[T any] = service.List[T]
)

// cut ends a page of rows of which one more than Limit was read.
func cut[T any](rows []T, p Page, position func(T) string) List[T] {
	l := List[T]{Rows: rows}
	if len(rows) > p.Limit {
		l.Rows = rows[:p.Limit]
		l.Next = position(rows[p.Limit-1])
	}
	if l.Rows == nil {
		l.Rows = []T{}
	}
	return l
}

// searched is the part of a list to read for a page: all that follows where something is
// looked for, of which only some is found.
func searched(typed string, p Page) provider.Paging {
	if typed != "" {
		return provider.Paging{After: p.After}
	}
	return provider.Paging{After: p.After, Limit: p.Limit + 1}
}

// only are the rows that are wanted.
func only[T any](rows iter.Seq2[T, error], wanted func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if (err != nil || wanted(row)) && !yield(row, err) {
				return
			}
		}
	}
}

// order is one of rows: where a row stands, as a page tells it, and which place is first.
type order[T any] struct {
	place   func(T) string
	compare func(a, b string) int
}

func byID[T any](id func(T) string) order[T] { return order[T]{id, strings.Compare} }

// ordered reads one row more than a page has, of a list that was asked for from p.After
// on. An application that does not keep to its order is not believed: rows would be missed
// or shown twice.
func ordered[T any](rows iter.Seq2[T, error], application string, p Page, by order[T]) ([]T, error) {
	var found []T
	last := p.After
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		at := by.place(row)
		if last != "" && by.compare(at, last) <= 0 || at == "" {
			return nil, fault.Transport("application_protocol_error", application, "", "the application answers a list that is not in the order of the contract")
		}
		last = at
		found = append(found, row)
		if len(found) > p.Limit {
			break
		}
	}
	return found, nil
}

// inMemory is a page of a list that was answered whole.
func inMemory[T any](rows []T, p Page, position func(T) string) List[T] {
	slices.SortFunc(rows, func(a, b T) int { return cmp.Compare(position(a), position(b)) })
	from, found := slices.BinarySearchFunc(rows, p.After, func(row T, after string) int { return cmp.Compare(position(row), after) })
	if found {
		from++
	}
	return cut(rows[from:], p, position)
}

// taken reads one row more than a page has.
func taken[T any](rows iter.Seq2[T, error], p Page) ([]T, error) {
	var found []T
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		if found = append(found, row); len(found) > p.Limit {
			break
		}
	}
	return found, nil
}

// find looks for a row in a list that is ordered by id.
func find[T any](rows iter.Seq2[T, error], what, id string, idOf func(T) string) (T, error) {
	var none T
	for row, err := range rows {
		if err != nil {
			return none, err
		}
		if at := idOf(row); at == id {
			return row, nil
		} else if at > id {
			break
		}
	}
	return none, rejected(authz.CodeNotFound, what+" not found")
}

// rejected is a refusal as an application would make it.
func rejected(code authz.Code, message string) *fault.Error {
	return fault.Rejected(code, "%s", message)
}
