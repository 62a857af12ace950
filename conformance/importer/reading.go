package importer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// reading is what came of one Import.
type reading struct {
	entries []directory.Entry
	err     error
	after   int // entries that came after the error: none may
}

// read reads on until the sequence ends or on, which may be nil, says no: it is told
// how many entries have come.
func (w *world) read(ctx context.Context, i directory.Importer, cursor string, on func(n int) bool) reading {
	var r reading
	start := time.Now()
	for entry, err := range i.Import(ctx, directory.Request{Cursor: cursor}) {
		switch {
		case r.err != nil:
			r.after++
			continue
		case err != nil:
			r.err = err
			continue
		}
		if r.entries = append(r.entries, entry); len(r.entries) > directory.MaxEntries {
			w.Want(fmt.Sprintf("at most %d entries", directory.MaxEntries), "more")
		}
		if on != nil && !on(len(r.entries)) {
			break
		}
	}
	w.Step("import, cursor %s → %d entries%s%s after %v", runner.Clip(fmt.Sprintf("%q", cursor), 60), len(r.entries), r.ending(), told(r.err),
		time.Since(start).Round(time.Millisecond))
	return r
}

func (r reading) ending() string {
	if r.ended() {
		return ", an End"
	}
	return ", no End"
}

func told(err error) string {
	if err == nil {
		return ""
	}
	return runner.Clip(fmt.Sprintf(", %T: %v", err, err), 300)
}

// begin is the first entry.
func (r reading) begin() (b directory.Begin, ok bool) {
	if len(r.entries) > 0 {
		b, ok = r.entries[0].(directory.Begin)
	}
	return b, ok
}

// ended reports whether an End came.
func (r reading) ended() bool {
	return slices.ContainsFunc(r.entries, func(e directory.Entry) bool { _, ok := e.(directory.End); return ok })
}

// whole expects a reading from its Begin to its End.
func (w *world) whole(r reading) reading {
	_, begins := r.begin()
	switch {
	case r.err != nil:
		w.Want("a whole reading", "it ended after %d entries%s", len(r.entries), told(r.err))
	case !begins || !r.ended():
		w.Want("a reading from a Begin to an End", "%d entries, the last %s", len(r.entries), r.last())
	}
	return r
}

// full reads the whole directory.
func (w *world) full(i directory.Importer) reading { return w.whole(w.read(w.ctx, i, "", nil)) }

func (r reading) last() string {
	if len(r.entries) == 0 {
		return "missing"
	}
	return shown(r.entries[len(r.entries)-1])
}

func shown(e directory.Entry) string { return runner.Clip(fmt.Sprintf("%T%+v", e, e), 200) }

// broken expects a reading that ended unavailable, without an End: nobody may take
// it for the whole.
func (w *world) broken(r reading) {
	var gone *authz.UnavailableError
	switch {
	case r.ended():
		w.Want("no End in a reading that was cut off", "an End after %d entries%s", len(r.entries), told(r.err))
	case r.err == nil:
		w.Want("a reading that was cut off ends in an error", "it just ends after %d entries", len(r.entries))
	case !errors.As(r.err, &gone):
		w.Want("an *authz.UnavailableError", "after %d entries%s", len(r.entries), told(r.err))
	case r.after > 0:
		w.Want("nothing after an error", "%d entries", r.after)
	}
}

// told are the statements of a reading, sorted and each once, so that two readings
// can be compared whatever order they tell things in.
func (r reading) told() []string {
	var all []string
	var buffer []byte // as fmt writes a list with %q, which takes most of a case's time
	add := func(parts ...string) {
		buffer = append(buffer[:0], '[')
		for i, part := range parts {
			if i > 0 {
				buffer = append(buffer, ' ')
			}
			buffer = strconv.AppendQuote(buffer, part)
		}
		all = append(all, string(append(buffer, ']')))
	}
	for _, e := range r.entries {
		switch e := e.(type) {
		case directory.Group:
			add("group", e.ID, e.Name, e.Description)
			for _, p := range e.Parents {
				add("parent", e.ID, p)
			}
		case directory.User:
			active := "says nothing"
			if e.Active != nil {
				active = fmt.Sprint(*e.Active)
			}
			add("user", e.UserID, active)
		case directory.Membership:
			add("memberships", e.UserID)
			for _, g := range e.Groups {
				add("member", e.UserID, g)
			}
		case directory.ReportingEdge:
			add("manager", e.UserID, e.ManagerID)
		case directory.OrgMembership:
			add("orgs", e.UserID)
			for _, o := range e.Orgs {
				add("org", e.UserID, o)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// same expects that two readings tell the same.
func (w *world) same(first, second reading) { w.sameTold(first.told(), second.told()) }

func (w *world) sameTold(a, b []string) {
	if slices.Equal(a, b) {
		return
	}
	w.Want(fmt.Sprintf("the %d statements of the first reading", len(a)), "%d statements; lacking: %s; new: %s", len(b), without(a, b), without(b, a))
}

// without shows some of what a has and b has not.
func without(a, b []string) string {
	less := lacking(a, b)
	if len(less) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, such as %s", len(less), runner.Clip(strings.Join(less[:min(len(less), 3)], " "), 400))
}

func lacking(a, b []string) (less []string) {
	for _, s := range a {
		if _, found := slices.BinarySearch(b, s); !found {
			less = append(less, s)
		}
	}
	return less
}

// importing is the sequence of a full reading, pulled by hand: cases that act in the
// middle of a reading read on afterwards.
func (w *world) importing(ctx context.Context, i directory.Importer) (next func() (directory.Entry, error, bool), stop func()) {
	next, stop = iter.Pull2(i.Import(ctx, directory.Request{}))
	w.Cleanup(stop)
	return next, stop
}
