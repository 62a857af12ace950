package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// Batch (MetricsBatch) is one window of one instance. What was observed and what
// it stands for under sampling stand beside each other; neither replaces the
// other. Instants are epoch milliseconds; lists are in first-seen order.
type Batch struct {
	InstanceID  string          `json:"instanceId"`
	WindowStart int64           `json:"windowStart"`
	WindowEnd   int64           `json:"windowEnd"` // not before WindowStart
	Checks      []CheckCounter  `json:"checks"`
	Grants      []RowCounter    `json:"grants"`
	Revokes     []RowCounter    `json:"revokes"`
	Roles       []RowCounter    `json:"roles"`
	Principals  PrincipalsCount `json:"principals"`
	Dropped     int64           `json:"dropped"` // counts that a cap refused
}

// CheckCounter counts the checks of one (permission, decision, shape, scope type,
// scope).
type CheckCounter struct {
	Permission string   `json:"permission"` // AnyPermission when the observations had none
	Decision   Decision `json:"decision"`
	Shape      Shape    `json:"shape"`
	Gate       bool     `json:"gate"`
	ScopeType  string   `json:"scopeType"`
	Scope      string   `json:"scope,omitempty"`
	Observed   int64    `json:"observed"`
	Estimated  float64  `json:"estimated"`
}

// AnyPermission counts observations without a permission.
const AnyPermission = "(any)"

// RowCounter counts the checks that one grant, revoke or role took part in.
// SoleMatch, at most Matched, are those that it alone decided.
type RowCounter struct {
	RowID              string   `json:"rowId"`
	Matched            int64    `json:"matched"`
	SoleMatch          int64    `json:"soleMatch"`
	EstimatedMatched   float64  `json:"estimatedMatched"`
	EstimatedSoleMatch float64  `json:"estimatedSoleMatch"`
	RecentPrincipals   []string `json:"recentPrincipals"` // "user:<id>", "service:<id>"; the first ones seen
}

// PrincipalsCount is exact, and a lower bound when Overflowed.
type PrincipalsCount struct {
	Distinct   int64 `json:"distinct"`
	Overflowed bool  `json:"overflowed"`
}

// Empty reports that the batch counts nothing: its four lists are empty.
func (b *Batch) Empty() bool {
	return len(b.Checks) == 0 && len(b.Grants) == 0 && len(b.Revokes) == 0 && len(b.Roles) == 0
}

func (b Batch) MarshalJSON() ([]byte, error) {
	type plain Batch
	b.Checks, b.Grants, b.Revokes, b.Roles = nonNil(b.Checks), nonNil(b.Grants), nonNil(b.Revokes), nonNil(b.Roles)
	return json.Marshal(plain(b))
}

func (c RowCounter) MarshalJSON() ([]byte, error) {
	type plain RowCounter
	c.RecentPrincipals = nonNil(c.RecentPrincipals)
	return json.Marshal(plain(c))
}

var batchMembers = []string{"instanceId", "windowStart", "windowEnd", "checks", "grants", "revokes", "roles", "principals", "dropped"}

// UnmarshalJSON refuses a batch without its required members or with a number
// that is not finite, as an *authz.WriteRejectedError of code validation.
func (b *Batch) UnmarshalJSON(data []byte) error {
	type plain Batch
	var p plain
	if err := decode(data, &p, "batch", batchMembers...); err != nil {
		return err
	}
	*b = Batch(p)
	return nil
}

// UnmarshalJSON is as strict as the batch's.
func (c *CheckCounter) UnmarshalJSON(data []byte) error {
	type plain CheckCounter
	var p plain
	if err := decode(data, &p, "check counter", "permission", "decision", "shape", "gate", "scopeType", "observed", "estimated"); err != nil {
		return err
	}
	*c = CheckCounter(p)
	return nil
}

// UnmarshalJSON is as strict as the batch's.
func (c *RowCounter) UnmarshalJSON(data []byte) error {
	type plain RowCounter
	var p plain
	if err := decode(data, &p, "row counter", "rowId", "matched", "soleMatch", "estimatedMatched", "estimatedSoleMatch", "recentPrincipals"); err != nil {
		return err
	}
	*c = RowCounter(p)
	return nil
}

// UnmarshalJSON is as strict as the batch's.
func (c *PrincipalsCount) UnmarshalJSON(data []byte) error {
	type plain PrincipalsCount
	var p plain
	if err := decode(data, &p, "principals count", "distinct", "overflowed"); err != nil {
		return err
	}
	*c = PrincipalsCount(p)
	return nil
}

// decode refuses an object that lacks a required member.
func decode(data []byte, into any, what string, required ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return authz.Validation("metrics %s is no object", what)
	}
	for _, name := range required {
		if value, ok := members[name]; !ok || string(value) == "null" {
			return authz.Validation("metrics %s lacks %s", what, name)
		}
	}
	if err := json.Unmarshal(data, into); err != nil {
		if authz.CodeOf(err) != "" {
			return err // a nested member's own refusal
		}
		return authz.Validation("metrics %s: %s", what, describe(err))
	}
	return nil
}

// describe names the member without repeating its value.
func describe(err error) string {
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Sprintf("%s is not of type %v", wrong.Field, wrong.Type)
	}
	return "malformed"
}

// Merge adds batches of several instances or windows: counters of equal key add
// up, recent principals are united up to maxRecent a row, and the window spans
// all. Distinct principals cannot be added: the largest count stands, as a lower
// bound when more than one batch had any. The instance is kept when all agree.
func Merge(maxRecent int, batches ...Batch) Batch {
	m := Batch{Checks: []CheckCounter{}, Grants: []RowCounter{}, Revokes: []RowCounter{}, Roles: []RowCounter{}}
	checks := map[checkKey]int{}
	var grants, revokes, roles = rowMerge{}, rowMerge{}, rowMerge{}
	counted := 0
	for i := range batches {
		b := &batches[i]
		if i == 0 {
			m.InstanceID, m.WindowStart, m.WindowEnd = b.InstanceID, b.WindowStart, b.WindowEnd
		}
		if m.InstanceID != b.InstanceID {
			m.InstanceID = ""
		}
		m.WindowStart, m.WindowEnd = min(m.WindowStart, b.WindowStart), max(m.WindowEnd, b.WindowEnd)
		for _, c := range b.Checks {
			key := checkKey{c.Permission, c.ScopeType, c.Scope, c.Decision, c.Shape}
			if at, ok := checks[key]; ok {
				m.Checks[at].Observed += c.Observed
				m.Checks[at].Estimated += c.Estimated
				continue
			}
			checks[key] = len(m.Checks)
			m.Checks = append(m.Checks, c)
		}
		m.Grants = grants.add(m.Grants, b.Grants, maxRecent)
		m.Revokes = revokes.add(m.Revokes, b.Revokes, maxRecent)
		m.Roles = roles.add(m.Roles, b.Roles, maxRecent)
		if b.Principals.Distinct > 0 {
			counted++
		}
		m.Principals.Distinct = max(m.Principals.Distinct, b.Principals.Distinct)
		m.Principals.Overflowed = m.Principals.Overflowed || b.Principals.Overflowed || counted > 1
		m.Dropped += b.Dropped
	}
	return m
}

// rowMerge finds the place of a row id.
type rowMerge map[string]int

func (at rowMerge) add(into, rows []RowCounter, maxRecent int) []RowCounter {
	for _, r := range rows {
		i, ok := at[r.RowID]
		if !ok {
			i = len(into)
			at[r.RowID] = i
			into = append(into, RowCounter{RowID: r.RowID, RecentPrincipals: []string{}})
		}
		sum := &into[i]
		sum.Matched += r.Matched
		sum.SoleMatch += r.SoleMatch
		sum.EstimatedMatched += r.EstimatedMatched
		sum.EstimatedSoleMatch += r.EstimatedSoleMatch
		for _, p := range r.RecentPrincipals {
			if len(sum.RecentPrincipals) < maxRecent && !slices.Contains(sum.RecentPrincipals, p) {
				sum.RecentPrincipals = append(sum.RecentPrincipals, p)
			}
		}
	}
	return into
}
