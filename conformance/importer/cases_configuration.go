package importer

import (
	"time"

	"github.com/authzhost/authz/conformance/configured"
	"github.com/authzhost/authz/sdk/directory"
)

var configurationCases = []importerCase{
	{ID: "D28", Rule: "a setting that the plugin does not declare is refused by name, with the declared one that is nearest", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.Unknown(w.ctx, w.Record, w.backend.(Configurer))
	}},
	{ID: "D29", Rule: "a setting of the wrong type is refused by name, without its value", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.WrongType(w.ctx, w.Record, w.backend.(Configurer))
	}},
	{ID: "D30", Rule: "a required setting that is not given is refused by name", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.Missing(w.ctx, w.Record, w.backend.(Configurer))
	}},
	{ID: "D31", Rule: "no secret of the configuration stands in an error, a warning or anything that the plugin writes", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.Given(w.ctx, w.Record, w.backend.(Configurer), w.usedHard)
	}},
	{ID: "D32", Rule: "no wrong secret stands in an error, a warning or anything that the plugin writes", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.Invented(w.ctx, w.Record, w.backend.(Configurer), w.usedHard)
	}},
}

// warned is a warning as an error, to be searched like one.
type warned string

func (s warned) Error() string { return string(s) }

// usedHard reads well and badly and returns every error and warning.
func (w *world) usedHard(i directory.Importer) (errs []error) {
	read := func(limit time.Duration, cursor string) {
		ctx, cancel := w.limited(limit)
		defer cancel()
		r := w.read(ctx, i, cursor, nil)
		errs = append(errs, r.err)
		for _, e := range r.entries {
			if warning, ok := e.(directory.Warning); ok {
				errs = append(errs, warned(warning.Message))
			}
		}
	}
	read(usual, "")
	read(usual, "no-such-cursor")
	if b, ok := w.backend.(Cutter); ok {
		w.cut()
		read(5*time.Second, "")
		_ = b.Resume()
	}
	if b, ok := w.backend.(Staller); ok {
		_ = b.Stall()
		read(300*time.Millisecond, "")
		_ = b.Resume()
	}
	return append(errs, i.Close())
}
