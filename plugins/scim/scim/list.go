package scim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	readAttempts  = 3   // of a list that moves under the reader
	maxEmptyPages = 100 // that are followed by another cursor
)

// unproved says why the pages of a list do not make a whole: the list changed while
// it was read, or the service is wrong. The two look alike, so it is read again.
type unproved struct{ reason string }

func (u *unproved) Error() string { return u.reason }

func doubt(format string, args ...any) error { return &unproved{fmt.Sprintf(format, args...)} }

// list is one list of resources.
type list[T any] struct {
	*session
	path, filter string
	byCursor     bool
	decode       func(*json.Decoder) (T, error)
	id           func(T) string
	known, fresh map[string]kept[T] // pages by their query: those of the last reading, those of this one
}

// kept is a page that the service gave an entity tag.
type kept[T any] struct {
	etag string
	page page[T]
}

// read returns the whole list, or an error.
func (l *list[T]) read(ctx context.Context) ([]T, error) {
	for attempt := 1; ; attempt++ {
		once := l.byIndex
		if l.byCursor {
			once = l.following
		}
		clear(l.fresh)
		items, err := once(ctx)
		var why *unproved
		switch {
		case !errors.As(err, &why):
			return items, err
		case attempt == readAttempts:
			return nil, outage(fmt.Sprintf("%s: the list could not be read whole in %d attempts: %s", l.path, readAttempts, why.reason), nil)
		case !pause(ctx, backoff(attempt)):
			return nil, stopped(ctx)
		}
	}
}

// byIndex pages with startIndex and count. Every page says the same total; with
// overlap it begins with the last resource of the one before, and one beyond the
// total shows that there is none. Insertions and deletions that shift the list by
// nothing in sum can only add what came or keep what went during the reading.
func (l *list[T]) byIndex(ctx context.Context) ([]T, error) {
	got := l.collection()
	for total := -1; ; {
		start := len(got.items) + 1
		if l.o.PageOverlap {
			start = max(len(got.items), 1)
		}
		p, err := l.page(ctx, url.Values{"startIndex": {strconv.Itoa(start)}, "count": {strconv.FormatInt(l.o.PageSize, 10)}})
		switch {
		case err != nil:
			return nil, err
		case p.total < 0:
			return nil, authz.Validation("%s: the list does not say totalResults", l.path)
		case total >= 0 && p.total != total:
			return nil, doubt("totalResults was %d and is %d", total, p.total)
		case p.start != 0 && p.start != start:
			return nil, doubt("asked from %d on, the list begins at %d", start, p.start)
		}
		total = p.total
		if int64(total) > l.o.MaxEntries {
			return nil, authz.Validation("%s: the list has %d resources, more than %s (%d)", l.path, total, settingMaxEntries, l.o.MaxEntries)
		}
		fresh := p.items
		if len(got.items) > 0 && l.o.PageOverlap {
			if len(fresh) == 0 || l.id(fresh[0]) != l.id(got.items[len(got.items)-1]) {
				return nil, doubt("the page from %d on does not continue the one before", start)
			}
			fresh = fresh[1:]
		}
		whole := len(got.items) == total
		if err := got.add(fresh); err != nil {
			return nil, err
		}
		switch n := len(got.items); {
		case n > total:
			return nil, doubt("totalResults is %d, but there are more", total)
		case n == total && (whole || n == 0 || !l.o.PageOverlap):
			return got.items, nil
		case n == total: // one page more shows that it was the last
		case len(fresh) == 0:
			return nil, doubt("the list ends after %d of %d resources", n, total)
		case p.perPage > len(p.items):
			return nil, doubt("a page before the last says that it has %d resources, and has %d", p.perPage, len(p.items))
		}
	}
}

// following pages by cursor: the page without a next one is the last.
func (l *list[T]) following(ctx context.Context) ([]T, error) {
	got := l.collection()
	cursors := map[string]bool{}
	for cursor, empty := "", 0; ; {
		p, err := l.page(ctx, url.Values{"cursor": {cursor}, "count": {strconv.FormatInt(l.o.PageSize, 10)}})
		if err != nil {
			return nil, err
		}
		if err := got.add(p.items); err != nil {
			return nil, err
		}
		if len(p.items) == 0 {
			empty++
		}
		switch n := len(got.items); {
		case int64(n) > l.o.MaxEntries:
			return nil, authz.Validation("%s: the list has more resources than %s (%d)", l.path, settingMaxEntries, l.o.MaxEntries)
		case p.next == "" && p.total >= 0 && p.total != n:
			return nil, doubt("totalResults is %d, and the list ends after %d", p.total, n)
		case p.next == "":
			return got.items, nil
		case cursors[p.next]:
			return nil, doubt("the list leads back to a cursor that it gave before")
		case empty > maxEmptyPages:
			return nil, doubt("the list goes on with empty pages")
		}
		cursors[p.next] = true
		cursor = p.next
	}
}

// page asks for one page, or takes the one that the service says is unchanged.
func (l *list[T]) page(ctx context.Context, query url.Values) (page[T], error) {
	if l.filter != "" {
		query.Set("filter", l.filter)
	}
	var p page[T]
	key := query.Encode()
	last, seen := l.known[key]
	a, err := l.get(ctx, l.path, query, last.etag, func(body io.Reader) (err error) {
		p, err = decodePage(body, l.decode)
		return err
	})
	if err != nil {
		return p, err
	}
	if a.unchanged && seen {
		p = last.page
	}
	if a.etag != "" {
		l.fresh[key] = kept[T]{a.etag, p}
	}
	return p, nil
}

// collection is what was read of a list so far.
type collection[T any] struct {
	items []T
	seen  map[string]bool
	id    func(T) string
}

func (l *list[T]) collection() *collection[T] {
	return &collection[T]{seen: map[string]bool{}, id: l.id}
}

func (c *collection[T]) add(items []T) error {
	for _, item := range items {
		id := c.id(item)
		if c.seen[id] {
			return doubt("the resource %s is told twice", spell.Quote(id))
		}
		c.seen[id] = true
		c.items = append(c.items, item)
	}
	return nil
}
