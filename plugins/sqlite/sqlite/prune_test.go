package sqlite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// A prune that ends between its pieces has changed something.
func TestAPruneCutShortIsOfUnknownFate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pieces := 0
	o := Options{Path: t.TempDir() + "/a.db", observe: func(statement string) {
		if strings.HasPrefix(statement, `DELETE FROM "AuthzEvent"`) {
			if pieces++; pieces == 2 {
				cancel()
			}
		}
	}}
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	s, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	c := storage.Commit{ID: "1"}
	for range 12_000 {
		c.Events = append(c.Events, authz.UserEvent("u"))
	}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	keep := int64(10)
	_, err = s.PruneEvents(ctx, storage.PruneEvents{KeepRows: &keep})
	var down *storage.Error
	if !errors.As(err, &down) || down.Outcome != authz.OutcomeUnknown {
		t.Errorf("%#v, want unavailable, of unknown fate", err)
	}
	if deleted, err := s.PruneEvents(t.Context(), storage.PruneEvents{KeepRows: &keep}); deleted == 0 || err != nil {
		t.Errorf("again: %d, %v", deleted, err)
	}
}
