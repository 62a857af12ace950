package sink

import (
	"math"
	"time"

	"github.com/authzhost/authz/conformance/configured"
	"github.com/authzhost/authz/sdk/metrics"
)

var configurationCases = []sinkCase{
	{ID: "W29", Rule: "a setting that the plugin does not declare is refused by name, with the declared one that is nearest", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.Unknown(w.ctx, w.Record, w.backend.(Configurer))
	}},
	{ID: "W30", Rule: "a setting of the wrong type is refused by name, without its value", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.WrongType(w.ctx, w.Record, w.backend.(Configurer))
	}},
	{ID: "W31", Rule: "a required setting that is not given is refused by name", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.Missing(w.ctx, w.Record, w.backend.(Configurer))
	}},
	{ID: "W32", Rule: "no secret of the configuration stands in an error or in anything that the plugin writes", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.Given(w.ctx, w.Record, w.backend.(Configurer), w.usedHard)
	}},
	{ID: "W33", Rule: "no wrong secret stands in an error or in anything that the plugin writes", Abilities: []Ability{Configure}, Run: func(w *world) {
		configured.Invented(w.ctx, w.Record, w.backend.(Configurer), w.usedHard)
	}},
}

// usedHard uses a sink well and badly and returns every error.
func (w *world) usedHard(s metrics.Sink) (errs []error) {
	bad := w.window("a", 2, map[string]int64{"read": 1})
	bad.Checks[0].Estimated = math.NaN()
	errs = append(errs, w.write(s, w.window("a", 1, map[string]int64{"read": 1}), 2*time.Second), w.write(s, bad, 2*time.Second))
	if b, ok := w.backend.(Staller); ok {
		w.stall()
		errs = append(errs, w.write(s, w.window("a", 3, map[string]int64{"read": 1}), 300*time.Millisecond))
		_ = b.Resume()
	}
	return append(errs, w.closing(s, 2*time.Second))
}
