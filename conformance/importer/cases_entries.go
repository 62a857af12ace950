package importer

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/directory"
)

var entryCases = []importerCase{
	{ID: "D01", Rule: "Info names the importer and lists known capabilities, each once, a dataset among them", Run: func(w *world) {
		info := w.importer.Info()
		if info.Name == "" {
			w.Want("a name", "none")
		}
		datasets := 0
		for i, c := range info.Capabilities {
			if !slices.Contains(directory.ImporterCapabilities(), c) || slices.Contains(info.Capabilities[:i], c) {
				w.Want(fmt.Sprintf("capabilities of %q, each once", directory.ImporterCapabilities()), "%q", info.Capabilities)
			}
			if c != directory.CapIncremental {
				datasets++
			}
		}
		if datasets == 0 {
			w.Want("at least one dataset", "%q", info.Capabilities)
		}
	}},
	{ID: "D02", Rule: "what Info says stays the same, whatever its caller does with it", Run: func(w *world) {
		before := w.importer.Info()
		kept := slices.Clone(before.Capabilities)
		for i := range before.Capabilities {
			before.Capabilities[i] = "scribbled"
		}
		if after := w.importer.Info(); after.Name != before.Name || !slices.Equal(after.Capabilities, kept) {
			w.Want(fmt.Sprintf("%s %q", before.Name, kept), "%s %q", after.Name, after.Capabilities)
		}
	}},
	{ID: "D03", Rule: "the first entry is a Begin, and the only one; it lists datasets that Info declares, each once, and a full reading is not incremental", Run: func(w *world) {
		r := w.read(w.ctx, w.importer, "", nil)
		b, ok := r.begin()
		switch {
		case r.err != nil:
			w.Want("a reading", "it ended%s", told(r.err))
		case !ok:
			w.Want("a Begin first", "%d entries, the last %s", len(r.entries), r.last())
		case len(b.Datasets) == 0 || b.Incremental || b.Expected < 0:
			w.Want("at least one dataset, not incremental, an expectation that is not negative", "%+v", b)
		}
		for i, d := range b.Datasets {
			if !w.declares(d) || d == directory.CapIncremental || slices.Contains(b.Datasets[:i], d) {
				w.Want(fmt.Sprintf("datasets of %q, each once", w.importer.Info().Capabilities), "%q", b.Datasets)
			}
		}
		for n, e := range r.entries[1:] {
			if _, again := e.(directory.Begin); again {
				w.Want("one Begin", "another as entry %d", n+2)
			}
		}
	}},
	{ID: "D04", Rule: "the last entry is an End, and the only one; it has a cursor when the importer is incremental, and only then", Run: func(w *world) {
		r := w.read(w.ctx, w.importer, "", nil)
		if r.err != nil || len(r.entries) == 0 {
			w.Want("a reading", "%d entries%s", len(r.entries), told(r.err))
		}
		for n, e := range r.entries[:len(r.entries)-1] {
			if _, early := e.(directory.End); early {
				w.Want("nothing after the End", "an End as entry %d of %d", n+1, len(r.entries))
			}
		}
		end, ok := r.entries[len(r.entries)-1].(directory.End)
		if !ok {
			w.Want("an End last", "%s", r.last())
		}
		if incremental := w.declares(directory.CapIncremental); incremental != (end.Cursor != "") {
			w.Want(fmt.Sprintf("a cursor: %v", incremental), "the cursor %q", runner.Clip(end.Cursor, 60))
		}
	}},
	{ID: "D05", Rule: "no entry is of a dataset that Begin did not list", Run: func(w *world) {
		r := w.full(w.importer)
		b, _ := r.begin()
		for n, e := range r.entries {
			if d := dataset(e); d != "" && !slices.Contains(b.Datasets, d) {
				w.Want(fmt.Sprintf("entries of %q", b.Datasets), "entry %d: %s", n+1, shown(e))
			}
		}
	}},
	{ID: "D06", Rule: "ids are there and bounded, texts are UTF-8 and bounded, warnings short", Run: func(w *world) {
		for n, e := range w.full(w.importer).entries {
			if what := malformed(e); what != "" {
				w.Want("a well-formed entry", "%s in entry %d: %s", what, n+1, shown(e))
			}
		}
	}},
	{ID: "D07", Rule: "a full reading is one that an import can take", Run: func(w *world) {
		r := w.full(w.importer)
		if _, err := directory.Collect(func(yield func(directory.Entry, error) bool) {
			for _, e := range r.entries {
				if !yield(e, nil) {
					return
				}
			}
		}, nil); err != nil {
			w.Want("a reading that directory.Collect takes", "%v", err)
		}
	}},
	{ID: "D08", Rule: "two full readings of a directory that did not change tell the same", Run: func(w *world) {
		w.same(w.full(w.importer), w.full(w.importer))
	}},
	{ID: "D09", Rule: "an entry belongs to its reader, whatever the reader does with it", Run: func(w *world) {
		before := w.full(w.importer).told()
		w.full(w.importer).scribble()
		w.sameTold(before, w.full(w.importer).told())
	}},
}

// dataset is the dataset of an entry, "" of none.
func dataset(e directory.Entry) directory.ImporterCapability {
	switch e.(type) {
	case directory.Group:
		return directory.CapGroups
	case directory.User:
		return directory.CapUsers
	case directory.Membership:
		return directory.CapMemberships
	case directory.ReportingEdge:
		return directory.CapReporting
	case directory.OrgMembership:
		return directory.CapOrgs
	}
	return ""
}

// malformed says what is wrong with an entry, "" when nothing is.
func malformed(e directory.Entry) string {
	var idents, texts []string
	switch e := e.(type) {
	case directory.Group:
		idents, texts = append(idents, e.ID), append(texts, e.Name, e.Description)
		idents = append(idents, e.Parents...)
		if len(e.Name) > directory.MaxName || len(e.Description) > directory.MaxText {
			return "a text that is too long"
		}
	case directory.User:
		idents = append(idents, e.UserID)
	case directory.Membership:
		idents = append(append(idents, e.UserID), e.Groups...)
	case directory.ReportingEdge:
		idents = append(idents, e.UserID, e.ManagerID)
	case directory.OrgMembership:
		idents = append(append(idents, e.UserID), e.Orgs...)
	case directory.Warning:
		if texts = append(texts, e.Message); e.Message == "" || len(e.Message) > directory.MaxWarning {
			return fmt.Sprintf("a warning that is empty or longer than %d bytes", directory.MaxWarning)
		}
	}
	for _, id := range idents {
		if id == "" || len(id) > directory.MaxID || !utf8.ValidString(id) {
			return "an id that is empty, too long or not UTF-8"
		}
	}
	if len(idents) > directory.MaxList+2 {
		return "a list that is too long"
	}
	if slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) }) {
		return "a text that is not UTF-8"
	}
	return ""
}

// scribble writes over all that the entries hold by reference.
func (r reading) scribble() {
	for i := range r.entries {
		runner.Overwrite(r.entries[i])
	}
}
