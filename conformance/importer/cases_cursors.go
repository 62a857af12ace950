package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

var cursorCases = []importerCase{
	{ID: "D17", Rule: "a reading from the last cursor of a directory that did not change tells nothing new: it is incremental, or full and says so", Needs: directory.CapIncremental, Run: func(w *world) {
		first := w.full(w.importer)
		again := w.whole(w.read(w.ctx, w.importer, first.cursor(), nil))
		if b, _ := again.begin(); !b.Incremental {
			w.same(first, again)
			return
		}
		told := slices.DeleteFunc(lacking(again.told(), first.told()), func(s string) bool {
			return strings.HasPrefix(s, `["user" `) && strings.HasSuffix(s, ` "false"]`) // who is gone is told inactive
		})
		if len(told) > 0 {
			w.Want("nothing that the full reading did not tell", "%s", told[0])
		}
	}},
	{ID: "D18", Rule: "what changed since a cursor is told in the reading from it", Needs: directory.CapIncremental, Abilities: []Ability{Change}, Run: func(w *world) {
		before := w.full(w.importer)
		if err := w.backend.(Changer).Change(w.ctx); err != nil {
			w.Want("the directory changed", "%v", err)
		}
		w.Step("change the directory")
		since := w.whole(w.read(w.ctx, w.importer, before.cursor(), nil))
		after := w.full(w.importer)
		changed := lacking(after.told(), before.told())
		if len(changed) == 0 {
			w.Skip("the change of the directory is none that a full reading tells")
		}
		if left := lacking(changed, since.told()); len(left) > 0 {
			w.Want(fmt.Sprintf("the %d new statements", len(changed)), "without %s", left[0])
		}
	}},
	{ID: "D19", Rule: "a cursor that is unusable gives a full reading that says so, or is refused with validation", Run: func(w *world) {
		first := w.full(w.importer).told()
		for _, cursor := range []string{"no-such-cursor", `{"unknown":[1]}`, "\u2603\t", strings.Repeat("c", 3000)} {
			r := w.read(w.ctx, w.importer, cursor, nil)
			var refused *authz.WriteRejectedError
			if errors.As(r.err, &refused) && refused.Code == authz.CodeValidation && !r.ended() {
				continue
			}
			w.whole(r)
			if b, _ := r.begin(); b.Incremental {
				w.Want("a full reading", "an incremental one")
			}
			w.sameTold(first, r.told())
		}
	}},
}

// cursor is the End's.
func (r reading) cursor() string {
	for _, e := range r.entries {
		if end, ok := e.(directory.End); ok {
			return end.Cursor
		}
	}
	return ""
}
