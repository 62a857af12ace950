package hostedclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Call asks for an operation of the provider API, so that a command need not know
// which API it talks to.
func (c *Client) Call(ctx context.Context, op string, params, result any) error {
	p, _ := params.(fields)
	e, err := c.endpoint(op, p)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	switch next := ""; {
	case e.whole != "":
		members, err = c.gather(ctx, e)
	case e.method == http.MethodGet:
		if members, next, err = c.page(ctx, e.path, e.query); next != "" {
			members["next"], err = json.Marshal(next)
		}
	default:
		err = c.Ask(ctx, e.method, e.path, e.query, e.body, &members)
	}
	if err == nil && e.shape != nil {
		err = e.shape(members)
	}
	if err != nil || result == nil {
		return err
	}
	text, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		return fmt.Errorf("%s answered without a usable result: %w", c.URL, err)
	}
	return nil
}

// gather reads a list whole.
func (c *Client) gather(ctx context.Context, e endpoint) (map[string]json.RawMessage, error) {
	all := []json.RawMessage{}
	err := Rows(ctx, c, e.path, e.whole, e.query, 0, func(r json.RawMessage) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(all)
	return map[string]json.RawMessage{e.whole: text}, err
}

// edgesByUser makes the list of edges the object that the operation answers.
func edgesByUser(members map[string]json.RawMessage) (err error) {
	var edges []struct{ UserID, ManagerUserID string }
	if err := json.Unmarshal(members["edges"], &edges); err != nil {
		return err
	}
	by := map[string]string{}
	for _, e := range edges {
		by[e.UserID] = e.ManagerUserID
	}
	members["edges"], err = json.Marshal(by)
	return err
}

// oneCatalog joins what all applications published.
func oneCatalog(members map[string]json.RawMessage) error {
	var namespaces []struct {
		Document *struct{ Leaves, Groups []json.RawMessage }
	}
	if err := json.Unmarshal(members["namespaces"], &namespaces); err != nil {
		return err
	}
	var leaves, groups []json.RawMessage
	for _, n := range namespaces {
		if n.Document != nil {
			leaves, groups = append(leaves, n.Document.Leaves...), append(groups, n.Document.Groups...)
		}
	}
	joined, err := json.Marshal(fields{"document": fields{"leaves": leaves, "groups": groups}})
	members["published"] = joined
	return err
}

// goesOn tells of a part of a hash chain whether others follow, as the operation does.
func goesOn(members map[string]json.RawMessage) (err error) {
	members["more"], err = json.Marshal(members["next"] != nil)
	return err
}
