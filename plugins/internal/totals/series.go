package totals

import (
	"strconv"

	"github.com/authzhost/authz/sdk/metrics"
)

// Instrument is what a series counts: the name that OpenTelemetry's adapter gives
// it, without the prefix.
type Instrument string

// The instruments, all counters. Those of rows count checks that were allowed, a
// revoke's those that it denied.
const (
	Checks         Instrument = "checks"
	GrantMatched   Instrument = "grant.matched"
	GrantSoleMatch Instrument = "grant.sole_match"
	RevokeMatched  Instrument = "revoke.matched"
	RoleMatched    Instrument = "role.matched"
	Dropped        Instrument = "dropped"             // by the bounds of the host's windows
	SeriesRefused  Instrument = "sink.series_refused" // by the bound of the table
	ChecksRefused  Instrument = "sink.checks_refused" // of those, what checks counted
)

// Instruments lists every instrument.
func Instruments() []Instrument {
	return []Instrument{Checks, GrantMatched, GrantSoleMatch, RevokeMatched, RoleMatched, Dropped, SeriesRefused, ChecksRefused}
}

// Help says what the instrument counts.
func (i Instrument) Help() string {
	switch i {
	case Checks:
		return "Permission checks."
	case GrantMatched:
		return "Checks that a grant took part in allowing."
	case GrantSoleMatch:
		return "Checks that only this grant allowed."
	case RevokeMatched:
		return "Checks that a revoke suppressed."
	case RoleMatched:
		return "Checks that a role took part in allowing."
	case Dropped:
		return "Counts that the bounds of the host's windows refused."
	case SeriesRefused:
		return "Counters of windows that the sink refused because it had reached its bound of series."
	case ChecksRefused:
		return "Checks that the counters stood for which the sink refused because it had reached its bound of series."
	}
	return ""
}

// LabelGate is the one label whose values are "true" and "false".
const LabelGate = "gate"

// Labels names the labels of the instrument's series.
func (i Instrument) Labels() []string {
	switch i {
	case Checks:
		return []string{"application", "instance", "permission", "decision", "shape", LabelGate, "scope_type", "scope"}
	case GrantMatched, GrantSoleMatch:
		return []string{"application", "instance", "grant_id"}
	case RevokeMatched:
		return []string{"application", "instance", "revoke_id"}
	case RoleMatched:
		return []string{"application", "instance", "role_id"}
	case Dropped:
		return []string{"application", "instance"}
	}
	return nil
}

// Key names a series.
type Key struct {
	Instrument  Instrument `json:"m"`
	Application string     `json:"a,omitempty"`
	Instance    string     `json:"i,omitempty"`
	Name        string     `json:"n,omitempty"` // the permission, or the row's id
	Decision    string     `json:"d,omitempty"`
	Shape       string     `json:"h,omitempty"`
	Gate        bool       `json:"g,omitempty"`
	ScopeType   string     `json:"t,omitempty"`
	Scope       string     `json:"s,omitempty"`
}

// Values answers the values of the labels in the order of Labels. An empty value
// is an absent label.
func (k Key) Values() []string {
	switch k.Instrument {
	case Checks:
		return []string{k.Application, k.Instance, k.Name, k.Decision, k.Shape, strconv.FormatBool(k.Gate), k.ScopeType, k.Scope}
	case GrantMatched, GrantSoleMatch, RevokeMatched, RoleMatched:
		return []string{k.Application, k.Instance, k.Name}
	case Dropped:
		return []string{k.Application, k.Instance}
	}
	return nil
}

// own reports whether the series is the table's own, for which there is always room.
func (k Key) own() bool { return k.Instrument == SeriesRefused || k.Instrument == ChecksRefused }

// Series is a total. Instants are epoch milliseconds by this machine's clock.
type Series struct {
	Key
	Total   float64 `json:"v"`
	Started int64   `json:"c"` // when it was zero for the last time
	Grew    int64   `json:"u"` // when it grew last
}

// Point is what a window adds to a series.
type Point struct {
	Key
	Value float64
}

// Points are the counters of a window, those of rows with attribution only. Counts
// of zero are left out. Some may be of equal key.
func Points(w *metrics.Window, attribution bool) []Point {
	about := Key{Application: w.Application, Instance: w.InstanceID}
	points := make([]Point, 0, len(w.Checks)+1)
	add := func(k Key, value float64) {
		if value > 0 {
			points = append(points, Point{k, value})
		}
	}
	for _, c := range w.Checks {
		k := about
		k.Instrument, k.Name, k.Gate = Checks, c.Permission, c.Gate
		k.Decision, k.Shape = string(c.Decision), string(c.Shape)
		k.ScopeType, k.Scope = c.ScopeType, c.Scope
		add(k, c.Estimated)
	}
	if attribution {
		rows := func(counters []metrics.RowCounter, matched, sole Instrument) {
			for _, r := range counters {
				k := about
				k.Instrument, k.Name = matched, r.RowID
				add(k, r.EstimatedMatched)
				if k.Instrument = sole; sole != "" {
					add(k, r.EstimatedSoleMatch)
				}
			}
		}
		rows(w.Grants, GrantMatched, GrantSoleMatch)
		rows(w.Revokes, RevokeMatched, "")
		rows(w.Roles, RoleMatched, "")
	}
	about.Instrument = Dropped
	add(about, float64(w.Dropped))
	return points
}
