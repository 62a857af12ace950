package authzotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/authzhost/authz/sdk/metrics"
)

// Options configures an observer. Meter is required; zero values of the others
// are the defaults.
type Options struct {
	Meter metric.Meter

	// Prefix ("authz.") begins every instrument's name.
	Prefix string

	// Attributes are merged into every measurement. The observer's own names
	// win.
	Attributes []attribute.KeyValue

	// Principals adds the attribute principal to checks: unbounded, and
	// personal data.
	Principals bool

	// OmitAttribution leaves out the four instruments of rows.
	OmitAttribution bool

	// OmitScopeInstances leaves out the attribute scope, which checks otherwise
	// have when their observation carries one.
	OmitScopeInstances bool

	// CountSampledOnly adds 1 a check instead of what it stands for under
	// sampling, 1/SampleRate. Without sampling they are the same.
	CountSampledOnly bool
}

// Observer emits measurements. It is safe for concurrent use.
type Observer struct {
	options Options
	checks  metric.Float64Counter

	grantMatched, grantSoleMatch, revokeMatched, roleMatched metric.Float64Counter
}

var _ metrics.NonBlocking = (*Observer)(nil)

// New creates the instruments.
func New(o Options) (*Observer, error) {
	if o.Meter == nil {
		return nil, errors.New("authzotel: Options.Meter is required")
	}
	if o.Prefix == "" {
		o.Prefix = "authz."
	}
	observer := &Observer{options: o}
	instruments := []struct {
		into              *metric.Float64Counter
		name, description string
	}{
		{&observer.checks, "checks", "Permission checks."},
		{&observer.grantMatched, "grant.matched", "Checks that a grant took part in allowing."},
		{&observer.grantSoleMatch, "grant.sole_match", "Checks that only this grant allowed."},
		{&observer.revokeMatched, "revoke.matched", "Checks that a revoke suppressed."},
		{&observer.roleMatched, "role.matched", "Checks that a role took part in allowing."},
	}
	if o.OmitAttribution {
		instruments = instruments[:1]
	}
	for _, i := range instruments {
		counter, err := o.Meter.Float64Counter(o.Prefix+i.name, metric.WithDescription(i.description), metric.WithUnit("{check}"))
		if err != nil {
			return nil, fmt.Errorf("authzotel: create %s: %w", o.Prefix+i.name, err)
		}
		*i.into = counter
	}
	return observer, nil
}

// NonBlocking says that checks may call Observe directly.
func (x *Observer) NonBlocking() {}

// Observe emits the measurements of one observation. The error is always nil.
func (x *Observer) Observe(o metrics.CheckObservation) error {
	weight := 1.0
	if !x.options.CountSampledOnly {
		weight = o.Weight()
	}
	x.add(x.checks, weight, x.checkAttributes(&o)...)
	if x.options.OmitAttribution {
		return nil
	}
	if o.Decision == metrics.Allow { // a condition's denial is no use of the rows
		for _, id := range o.MatchedGrantIDs {
			x.add(x.grantMatched, weight, grantID(id))
		}
		if o.SoleMatchGrantID != "" {
			x.add(x.grantSoleMatch, weight, grantID(o.SoleMatchGrantID), attribute.Bool("gate", o.Shape.Gate()))
		}
	}
	for _, id := range o.MatchedRevokeIDs {
		x.add(x.revokeMatched, weight, attribute.String("revoke_id", metrics.BoundID(id)))
	}
	if o.Decision == metrics.Allow {
		for _, id := range o.RoleIDs {
			x.add(x.roleMatched, weight, attribute.String("role_id", metrics.BoundID(id)))
		}
	}
	return nil
}

func grantID(id string) attribute.KeyValue {
	return attribute.String("grant_id", metrics.BoundID(id))
}

func (x *Observer) checkAttributes(o *metrics.CheckObservation) []attribute.KeyValue {
	permission := o.Permission
	if permission == "" {
		permission = metrics.AnyPermission
	}
	own := make([]attribute.KeyValue, 0, 11)
	own = append(own,
		attribute.String("permission", metrics.BoundName(permission)),
		attribute.String("decision", string(o.Decision)),
		attribute.String("shape", string(o.Shape)),
		attribute.Bool("gate", o.Shape.Gate()),
		attribute.String("scope_type", metrics.BoundName(o.ScopeType)),
		attribute.Bool("implied", o.Implied),
		attribute.Bool("fresh", o.Fresh),
		attribute.Bool("snapshot", o.Snapshot))
	if o.Scope != "" && !x.options.OmitScopeInstances {
		own = append(own, attribute.String("scope", metrics.BoundID(o.Scope)))
	}
	if x.options.Principals {
		own = append(own, attribute.String("principal", metrics.BoundID(o.Principal.Subject())))
	}
	if o.ExternalPermission {
		own = append(own, attribute.Bool("external", true))
	}
	return own
}

// add measures with the caller's attributes and then the observer's own, of which
// a set keeps the last of a name.
func (x *Observer) add(counter metric.Float64Counter, weight float64, own ...attribute.KeyValue) {
	all := make([]attribute.KeyValue, 0, len(x.options.Attributes)+len(own))
	all = append(append(all, x.options.Attributes...), own...)
	counter.Add(context.Background(), weight, metric.WithAttributeSet(attribute.NewSet(all...)))
}
