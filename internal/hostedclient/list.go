package hostedclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/authzhost/authz/internal/pages"
)

// Rows calls row for the rows of a list, or its first ones. A limit of 0 is none.
func Rows[T any](ctx context.Context, c *Client, path []string, name string, query map[string]any, limit int, row func(T) error) error {
	return pages.Read(query, limit, row, func(asked map[string]any) ([]T, bool, error) {
		members, next, err := c.page(ctx, path, asked)
		if err != nil {
			return nil, false, err
		}
		asked["cursor"] = next
		found, err := pages.Member[T](c.URL, members, name)
		return found, next != "", err
	})
}

// page asks for a page of a list and tells the cursor of the next, "" after the
// last.
func (c *Client) page(ctx context.Context, path []string, query map[string]any) (members map[string]json.RawMessage, next string, err error) {
	if err := c.Ask(ctx, http.MethodGet, path, query, nil, &members); err != nil {
		return nil, "", err
	}
	if text, ok := members["nextCursor"]; ok {
		var cursor *string
		if err := json.Unmarshal(text, &cursor); err != nil {
			return nil, "", fmt.Errorf("%s answered without a usable nextCursor: %w", c.URL, err)
		}
		if cursor != nil {
			next = *cursor
		}
	}
	return members, next, c.incomplete(members["unavailable"])
}

// incomplete tells which sources are missing from a list: it must not pass for
// the whole.
func (c *Client) incomplete(text json.RawMessage) error {
	if text == nil || c.Warn == nil {
		return nil
	}
	var missing []struct{ Application, Code string }
	if err := json.Unmarshal(text, &missing); err != nil {
		return fmt.Errorf("%s answered without a usable list of what is missing: %w", c.URL, err)
	}
	for _, m := range missing {
		c.Warn(fmt.Sprintf("what %s has is missing: %s", m.Application, m.Code))
	}
	return nil
}
