package billing

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
)

// Count says how much of a standing dimension an org has now.
type Count func(ctx context.Context, org string) (int64, error)

// Options of Meters.
type Options struct {
	Store *account.Store

	// Standing counts standing dimensions; one without a count is 0, as
	// provisioned_connectors always is.
	Standing map[string]Count
}

// Meters reads and raises the meters of every org. Its errors are *fault.Error.
type Meters struct {
	store    *account.Store
	standing map[string]Count
}

// New makes the meters over the account data.
func New(o Options) *Meters { return &Meters{store: o.Store, standing: o.Standing} }

type meter struct {
	Value int64 `json:"value"`
}

type ceiling struct {
	Cap *int64 `json:"cap"`
}

var (
	meters = account.Collection[meter]{Name: "meters"}
	caps   = account.Collection[ceiling]{Name: "caps"}
)

// Period is the calendar month in UTC that holds the instant, as epoch
// milliseconds; end is exclusive.
func Period(at int64) (start, end int64) {
	t := time.UnixMilli(at).UTC()
	first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return first.UnixMilli(), first.AddDate(0, 1, 0).UnixMilli()
}

// prefix is what the meters of a dimension in the period of the instant begin with.
func prefix(name string, at int64) string {
	start, _ := Period(at)
	return fmt.Sprintf("%s/%013d/", name, start)
}

// Add raises a counted dimension in the commit of what it counts. part is whatever
// the caller has to itself while it counts (a namespace or an application whose
// section it holds): meters of different parts never move under each other.
func (m *Meters) Add(ctx context.Context, tx *account.Tx, org, name, part string, n int64) error {
	id := prefix(name, m.store.Now(ctx)) + part
	row, _, err := meters.Get(ctx, m.store, org, id)
	if err != nil {
		return err
	}
	meters.Put(tx, org, id, meter{row.Value.Value + n}, row.Version)
	return nil
}

func (m *Meters) value(ctx context.Context, org string, d dimension) (int64, error) {
	if d.kind == Standing {
		count := m.standing[d.name]
		if count == nil {
			return 0, nil
		}
		return count(ctx, org)
	}
	var sum int64
	begin := prefix(d.name, m.store.Now(ctx))
	for row, err := range meters.Page(ctx, m.store, org, begin, 0) {
		if err != nil {
			return 0, err
		}
		if !strings.HasPrefix(row.ID, begin) {
			break
		}
		sum += row.Value.Value
	}
	return sum, nil
}

// Read returns one dimension: dimension_not_found.
func (m *Meters) Read(ctx context.Context, org, name string) (Dimension, error) {
	d, found := lookup(name)
	if !found {
		return Dimension{}, fault.Cloud("dimension_not_found", "there is no dimension %s", spell.Quote(name))
	}
	limit, _, err := caps.Get(ctx, m.store, org, name)
	if err != nil {
		return Dimension{}, err
	}
	value, err := m.value(ctx, org, d)
	if err != nil {
		return Dimension{}, err
	}
	return d.reading(value, limit.Value.Cap), nil
}

// Check refuses one more with cap_reached. It binds only while the caller holds
// the section in which the dimension grows.
func (m *Meters) Check(ctx context.Context, org, name string) error {
	d, err := m.Read(ctx, org, name)
	if err != nil || d.State == Under {
		return err
	}
	return fault.Cloud("cap_reached", "the cap of %d for %s is reached", *d.Cap, name).
		With("dimension", name).With("cap", *d.Cap).With("value", d.Value)
}

// Usage is the answer of GET billing/usage. Instants are epoch milliseconds.
type Usage struct {
	Org         string      `json:"org"`
	PeriodStart int64       `json:"periodStart"`
	PeriodEnd   int64       `json:"periodEnd"`
	GeneratedAt int64       `json:"generatedAt"`
	Dimensions  []Dimension `json:"dimensions"`
}

// Usage reads every dimension, in the chapter's order.
func (m *Meters) Usage(ctx context.Context, org string) (Usage, error) {
	now := m.store.Now(ctx)
	u := Usage{Org: org, GeneratedAt: now, Dimensions: make([]Dimension, 0, len(dimensions))}
	u.PeriodStart, u.PeriodEnd = Period(now)
	for _, d := range dimensions {
		reading, err := m.Read(ctx, org, d.name)
		if err != nil {
			return Usage{}, err
		}
		u.Dimensions = append(u.Dimensions, reading)
	}
	return u, nil
}

// maxCap is the largest integer that every reader of JSON keeps exactly.
const maxCap = 1<<53 - 1

// SetCap sets the cap of a dimension, nil for none, and answers the dimension:
// dimension_not_found, invalid_request. actor is who did it.
func (m *Meters) SetCap(ctx context.Context, actor, org, name string, limit *int64) (Dimension, error) {
	if _, found := lookup(name); !found {
		return m.Read(ctx, org, name)
	}
	if limit != nil && (*limit < 0 || *limit > maxCap) {
		return Dimension{}, fault.Invalid(fault.Issue{Path: "cap", Message: "must be an integer of at least 0, or null"})
	}
	err := account.Retry(func() error {
		row, _, err := caps.Get(ctx, m.store, org, name)
		if err != nil {
			return err
		}
		tx := m.store.Begin(ctx)
		caps.Put(tx, org, name, ceiling{limit}, row.Version)
		tx.Audit(org, actor, "billing.set_cap", name, map[string]any{"cap": limit, "before": row.Value.Cap})
		return tx.Commit()
	})
	if err != nil {
		return Dimension{}, err
	}
	return m.Read(ctx, org, name)
}
