package memory

import (
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// B79 with the theft placed exactly between the first comparison and the end.
func TestACommitWhoseSectionIsStolenWhileItIsBuiltIsDropped(t *testing.T) {
	backend := NewBackend(Options{})
	open := func() storage.Store {
		s, err := backend.Driver().Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	holder, thief := open(), open()
	section, err := holder.Acquire(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	p := backend.partition("")
	before := p.current.Load()
	err = p.write(t.Context(), []storage.Fence{section.Fence()}, func(d *draft) (bool, error) {
		d.roles.set(d.edit, &authz.Role{ID: "r"})
		d.log.append(storage.Commit{ID: "dropped", At: 1, Events: []authz.Event{{Type: authz.EventAll}}})
		if err := holder.Close(); err != nil {
			t.Error(err)
		}
		if _, err := thief.Acquire(t.Context(), "k"); err != nil {
			t.Error(err)
		}
		return true, nil
	})
	if storage.CodeOf(err) != storage.CodeStaleFence {
		t.Fatalf("got %v", err)
	}
	if p.current.Load() != before {
		t.Fatal("a dropped commit was published")
	}
	select {
	case <-before.log.moved:
		t.Fatal("a dropped commit woke the watchers")
	default:
	}
	if _, err := thief.Commit(t.Context(), storage.Commit{ID: "c", Events: []authz.Event{authz.RoleEvent("r")}}); err != nil {
		t.Fatal(err)
	}
	page, err := thief.EventsSince(t.Context(), authz.Position{}, 10)
	if err != nil || len(page.Events) != 1 || page.Events[0] != authz.RoleEvent("r") {
		t.Fatalf("the log after a dropped commit: %+v, %v", page, err)
	}
}
