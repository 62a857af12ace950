package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"

	"github.com/authzhost/authz/sdk/authz"
)

// Size is how many rows one call of a list asks for.
const Size = 1000

// Caller takes the operations of the provider API.
type Caller interface {
	Call(ctx context.Context, op string, params, result any) error
}

// Each calls row for the rows of the list op, or for its first ones. A limit of 0 is
// none.
func Each[T any](ctx context.Context, c Caller, op, field string, params map[string]any, limit int, row func(T) error) error {
	return Read(params, limit, row, func(asked map[string]any) ([]T, bool, error) {
		var members map[string]json.RawMessage
		if err := c.Call(ctx, op, asked, &members); err != nil {
			return nil, false, err
		}
		next, more := members["next"]
		asked["after"] = next
		found, err := Member[T](op, members, field)
		return found, more, err
	})
}

// Read calls row for the rows of a list, page by page, or for its first ones. A limit
// of 0 is none. next asks for a page, notes in what is asked where the one after it
// begins, and reports whether there is one.
func Read[T any](query map[string]any, limit int, row func(T) error, next func(asked map[string]any) (page []T, more bool, err error)) error {
	asked := map[string]any{}
	maps.Copy(asked, query)
	for left := limit; ; {
		asked["limit"] = Size
		if limit > 0 {
			asked["limit"] = min(left, Size)
		}
		page, more, err := next(asked)
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := row(r); err != nil {
				return err
			}
		}
		if left -= len(page); !more || limit > 0 && left <= 0 {
			return nil
		}
	}
}

// Member is the list of that name in what somebody answered.
func Member[T any](who string, members map[string]json.RawMessage, name string) (list []T, err error) {
	if err := json.Unmarshal(members[name], &list); err != nil {
		return nil, fmt.Errorf("%s answered without a usable %q: %w", who, name, err)
	}
	return list, nil
}

// Audit reads the audit log from a position on, oldest first (spec: provider-api §7.4).
func Audit(ctx context.Context, c Caller, filter map[string]any, from authz.AuditCursor) iter.Seq2[[]authz.AuditEntry, error] {
	return func(yield func([]authz.AuditEntry, error) bool) {
		asked := map[string]any{"limit": Size}
		maps.Copy(asked, filter)
		for {
			asked["cursor"] = from
			var page struct{ Events []authz.AuditEntry }
			err := c.Call(ctx, "listAuditEvents", map[string]any{"filter": asked}, &page)
			if !yield(page.Events, err) || err != nil || len(page.Events) < Size {
				return
			}
			from = page.Events[len(page.Events)-1].Cursor()
		}
	}
}
