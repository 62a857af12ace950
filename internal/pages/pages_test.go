package pages_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/pages"
	"github.com/authzhost/authz/sdk/authz"
)

// far answers the operations of the provider API out of lists that it holds, and
// keeps what it was asked.
type far struct {
	numbers []int
	log     []authz.AuditEntry
	asked   []string
	answer  string // of everything, instead
}

func (f *far) Call(_ context.Context, op string, params, result any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	f.asked = append(f.asked, string(text))
	if f.answer != "" {
		return json.Unmarshal([]byte(f.answer), result)
	}
	var p struct {
		Limit  int
		After  int
		Filter struct {
			Limit  int
			Cursor authz.AuditCursor
		}
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	var answer map[string]any
	switch op {
	case "listNumbers":
		page := f.numbers[p.After:]
		answer = map[string]any{"numbers": page}
		if len(page) > p.Limit {
			answer = map[string]any{"numbers": page[:p.Limit], "next": p.After + p.Limit}
		}
	case "listAuditEvents":
		var page []authz.AuditEntry
		for _, e := range f.log {
			if p.Filter.Cursor.Before(e.Cursor()) && len(page) < p.Filter.Limit {
				page = append(page, e)
			}
		}
		answer = map[string]any{"events": page}
	default:
		return fmt.Errorf("no operation %s", op)
	}
	text, err = json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestEachReadsAListWholeOrItsFirstRows(t *testing.T) {
	const n = 2*pages.Size + 7
	for limit, want := range map[int]struct{ rows, calls int }{0: {n, 3}, 3: {3, 1}, pages.Size: {pages.Size, 1}, pages.Size + 1: {pages.Size + 1, 2}, n + 9: {n, 3}} {
		f := &far{numbers: numbers(n)}
		given := map[string]any{"filter": map[string]any{"of": "me"}}
		var got []int
		err := pages.Each(t.Context(), f, "listNumbers", "numbers", given, limit, func(i int) error { got = append(got, i); return nil })
		if err != nil || !slices.Equal(got, f.numbers[:want.rows]) {
			t.Errorf("limit %d: %d rows, %v", limit, len(got), err)
		}
		if len(f.asked) != want.calls || !strings.Contains(f.asked[len(f.asked)-1], `"of":"me"`) {
			t.Errorf("limit %d: asked %v", limit, f.asked)
		}
		if len(given) != 1 {
			t.Errorf("limit %d: the parameters became %v", limit, given)
		}
	}
}

func TestEachEndsWithTheFirstError(t *testing.T) {
	stop := errors.New("enough")
	f := &far{numbers: numbers(pages.Size + 1)}
	err := pages.Each(t.Context(), f, "listNumbers", "numbers", nil, 0, func(int) error { return stop })
	if !errors.Is(err, stop) || len(f.asked) != 1 {
		t.Errorf("%v after %d calls", err, len(f.asked))
	}
	for _, answer := range []string{`{"next":1}`, `{"numbers":7}`} {
		err := pages.Each(t.Context(), &far{answer: answer}, "listNumbers", "numbers", nil, 0, func(int) error { return nil })
		if err == nil || !strings.Contains(err.Error(), `listNumbers answered without a usable "numbers"`) {
			t.Errorf("%s: %v", answer, err)
		}
	}
	if err := pages.Each(t.Context(), f, "listNothing", "x", nil, 0, func(int) error { return nil }); err == nil {
		t.Error("the far side's error is lost")
	}
}

func TestAuditGoesOnWhereAPageEnded(t *testing.T) {
	var log []authz.AuditEntry
	for i := range pages.Size + 3 {
		log = append(log, authz.AuditEntry{ID: fmt.Sprintf("e%05d", i), At: 1})
	}
	read := func(f *far, from authz.AuditCursor) (n int, failed error) {
		for page, err := range pages.Audit(t.Context(), f, map[string]any{"actor": "me"}, from) {
			if err != nil {
				return n, err
			}
			n += len(page)
		}
		return n, nil
	}
	f := &far{log: log}
	if n, err := read(f, authz.AuditCursor{}); n != len(log) || err != nil || len(f.asked) != 2 || !strings.Contains(f.asked[1], `"actor":"me"`) {
		t.Errorf("%d entries, %v, asked %v", n, err, f.asked)
	}
	if n, err := read(f, log[pages.Size].Cursor()); n != 2 || err != nil {
		t.Errorf("after one: %d entries, %v", n, err)
	}
	if _, err := read(&far{answer: `{"events":7}`}, authz.AuditCursor{}); err == nil {
		t.Error("an error is lost")
	}
}
