package totals

import (
	"errors"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// replay takes over what a line says.
func (t *Table) replay(r record) {
	for _, s := range r.Series {
		t.set(s)
	}
	for _, o := range r.Origins {
		is := o.life
		t.origins[o.Origin] = &is
	}
}

// record makes durable what a window is about to change.
func (t *Table) record(origin Origin, is life, grown []Series) error {
	line, err := record{Origins: []originRecord{{origin, is}}, Series: grown}.line()
	if errors.Is(err, errTooLong) {
		return authz.Validation("the window is too large to be kept")
	}
	if err != nil {
		return unavailable(authz.OutcomeNotApplied, err, "the state cannot be written")
	}
	if t.state.broken || t.state.gone() {
		if err := t.state.rewrite(t.everything()); err != nil {
			return unavailable(authz.OutcomeNotApplied, err, "the state cannot be written: "+reason(err))
		}
		if t.state.broken {
			return unavailable(authz.OutcomeNotApplied, nil, "the state cannot be written: its folder is not durable")
		}
	}
	return t.state.append(line)
}

// compact writes the file anew. Failing that it goes on growing, and the next
// window tries again.
func (t *Table) compact() {
	err := t.state.rewrite(t.everything())
	if err != nil && !t.state.warned {
		t.options.Log.Warn("the state file cannot be written anew and goes on growing", "error", reason(err))
	}
	t.state.warned = err != nil
}

// everything is what a file says from which the table comes out the same.
func (t *Table) everything() []record {
	records := []record{{Format: stateFormat}}
	series := make([]Series, 0, chunkSeries)
	for _, s := range t.series {
		if series = append(series, *s); len(series) == chunkSeries {
			records = append(records, record{Series: slices.Clone(series)})
			series = series[:0]
		}
	}
	last := record{Series: series}
	for name, l := range t.origins {
		last.Origins = append(last.Origins, originRecord{name, *l})
	}
	return append(records, last)
}
