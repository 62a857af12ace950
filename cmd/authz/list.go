package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/authzhost/authz/internal/pages"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// textRows is how many rows are held back to line their columns up.
const textRows = 1000

// listing prints rows as they come: nothing of a long list is kept.
type listing struct {
	to     io.Writer
	json   bool
	member string
	held   [][]string
	n      int

	told int             // rows of a lookup, each of which may be several lines
	also map[string]bool // members beside the rows, in JSON
}

func (f *outputFlag) listing(to io.Writer, member string, header ...string) *listing {
	return &listing{to: to, json: f.format == "json", member: member, held: [][]string{header}}
}

// row prints one row: value as JSON, or the cells.
func (l *listing) row(value any, cells ...string) error {
	l.n++
	if !l.json {
		if l.held = append(l.held, cells); len(l.held) > textRows {
			table(l.to, l.held)
			l.held = nil
		}
		return nil
	}
	before := ",\n  "
	if l.n == 1 {
		before = `{"` + l.member + "\": [\n  "
	}
	body, err := authz.Marshal(value)
	if err == nil {
		_, err = io.WriteString(l.to, before+string(body))
	}
	return err
}

func (l *listing) end() (err error) {
	switch {
	case !l.json:
		if l.n > 0 || len(l.held) > 0 {
			table(l.to, l.held)
		}
	case l.n == 0:
		_, err = io.WriteString(l.to, `{"`+l.member+"\": []"+l.beside()+"}\n")
	default:
		_, err = io.WriteString(l.to, "\n]"+l.beside()+"}\n")
	}
	return err
}

// beside are the members behind the rows.
func (l *listing) beside() (text string) {
	for _, name := range slices.Sorted(maps.Keys(l.also)) {
		text += fmt.Sprintf(", %q: %v", name, l.also[name])
	}
	return text
}

// cut is the error of a list that ends in the middle. What came of it is printed.
func (l *listing) cut(err error) error {
	if l.n == 0 {
		return err
	}
	if !l.json {
		table(l.to, l.held)
	}
	return fmt.Errorf("the list is not whole: %w", err)
}

// list prints the whole list op, or its first rows.
func list[T any](ctx context.Context, a *application, op string, p fields, limit int, to *listing, cells func(T) []string) error {
	if limit < 0 {
		return usageError{errors.New("--limit must not be negative")}
	}
	err := each(ctx, a, op, to.member, p, limit, func(r T) error { return to.row(r, cells(r)...) })
	if err != nil {
		return err
	}
	return to.end()
}

// whole calls row for the rows of an operation that answers whole.
func whole[T any](ctx context.Context, a *application, op string, p fields, name string, row func(T) error) error {
	if a.provider != nil {
		if err := (guarded{a.provider, a.local != nil}).look(ctx, op, p); err != nil {
			return err
		}
		return provider.Rows(ctx, a.provider, op, p, name, row)
	}
	var members map[string]json.RawMessage
	if err := a.Call(ctx, op, p, &members); err != nil {
		return err
	}
	all, err := pages.Member[T](op, members, name)
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := row(r); err != nil {
			return err
		}
	}
	return nil
}

// streamed is list for operations that answer whole.
func streamed[T any](ctx context.Context, a *application, op string, p fields, to *listing, cells func(T) [][]string) error {
	ctx, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	if err := whole(ctx, a, op, p, to.member, func(r T) error { return lined(to, r, cells) }); err != nil {
		return err
	}
	return to.end()
}

// lined prints a row of a report, which may be several lines of text.
func lined[T any](to *listing, row T, cells func(T) [][]string) error {
	if to.json {
		return to.row(row)
	}
	for _, line := range cells(row) {
		if err := to.row(row, line...); err != nil {
			return err
		}
	}
	return nil
}
