package orgroot

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
)

// readHome says who is asked for the rows at a scope; the root's are read together
// with account data.
func (r *Root) readHome(ctx context.Context, org, scope string) (Home, error) {
	if scope == authz.Global {
		return atTheRoot, nil
	}
	if _, ok := cloud.AppOf(scope); ok {
		return inAccount, nil
	}
	return r.owner(ctx, org, scope)
}

// merged is a page of the rows at a scope in an order, each with its home. Of two rows
// with one id accountWins leaves out the root's. A page is full without it: for
// each row that is left out there is the one of account data.
func merged[T, H any](ctx context.Context, r *Root, org, scope string, p Page, accountWins bool, list func(applications.Asked, Page) ([]T, error),
	account func() iter.Seq2[T, error], by order[T], with func(T, Home) H) (List[H], error) {
	h, err := r.readHome(ctx, org, scope)
	if err != nil {
		return List[H]{}, err
	}
	type placed struct {
		at  string
		row H
	}
	after := unhomed(p.After)
	compare := func(a, b string) int { return cmp.Or(by.compare(unhomed(a), unhomed(b)), strings.Compare(a, b)) }
	var all []placed
	if h != inAccount {
		if err := r.at(ctx, org, h, func(to applications.Asked) error {
			rows, err := list(to, Page{After: after, Limit: p.Limit})
			for _, row := range rows {
				all = append(all, placed{homed(by.place(row), h), with(row, h)})
			}
			return err
		}); err != nil {
			return List[H]{}, err
		}
	}
	if h.Kind != "application" {
		read := 0
		for row, err := range account() {
			if err != nil {
				return List[H]{}, err
			}
			at := homed(by.place(row), inAccount)
			if p.After != "" && compare(at, p.After) <= 0 {
				continue
			}
			all = append(all, placed{at, with(row, inAccount)})
			if read++; read > p.Limit {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return compare(a.at, b.at) })
	if accountWins {
		kept := all[:0]
		for i, row := range all {
			if i+1 == len(all) || unhomed(row.at) != unhomed(all[i+1].at) {
				kept = append(kept, row)
			}
		}
		all = kept
	}
	l := List[H]{Rows: make([]H, 0, min(len(all), p.Limit))}
	for i, row := range all {
		if i == p.Limit {
			l.Next = all[i-1].at
			break
		}
		l.Rows = append(l.Rows, row.row)
	}
	return l, nil
}

// counted is how many rows merged lists.
func counted[T any](ctx context.Context, r *Root, org, scope string, atHome func(applications.Asked) (int64, error), account func() iter.Seq2[T, error]) (n int64, err error) {
	h, err := r.readHome(ctx, org, scope)
	if err != nil {
		return 0, err
	}
	if h != inAccount {
		if err := r.at(ctx, org, h, func(to applications.Asked) (err error) {
			n, err = atHome(to)
			return err
		}); err != nil {
			return 0, err
		}
	}
	if h.Kind == "application" {
		return n, nil
	}
	ofAccount, err := length(account())
	return n + ofAccount, err
}

// length reads a list to its end.
func length[T any](rows iter.Seq2[T, error]) (n int64, err error) {
	for _, err := range rows {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// orGlobal is the scope that a query means.
func orGlobal(scope *string) string {
	if scope == nil {
		return authz.Global
	}
	return *scope
}

// unhomed undoes homed.
func unhomed(position string) string {
	place, _, _ := strings.Cut(position, "\x00")
	return place
}

// matching refuses rows that were not asked for: shown under a filter that they do
// not meet they would mislead.
func matching[T any](rows []T, err error, application string, matches func(T) bool) ([]T, error) {
	if err == nil && slices.ContainsFunc(rows, func(row T) bool { return !matches(row) }) {
		err = fault.Transport("application_protocol_error", application, "", "the application answers rows that it was not asked for")
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}
