package orgmerge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Result is the merged organization.
type Result struct {
	Snapshot    provider.OrgSnapshot // every list in ascending order of id; the catalog is the current side's
	Counts      Counts               // of the merged set
	Warnings    []string             // never nil
	Fingerprint string               // of the conflicts, those that are settled included
}

// Counts is how many rows a snapshot holds.
type Counts struct {
	Groups          int `json:"groups"`
	Roles           int `json:"roles"`
	GlobalGrants    int `json:"globalGrants"`
	GlobalRevokes   int `json:"globalRevokes"`
	Users           int `json:"users"`
	PendingRequests int `json:"pendingRequests"`
}

// Total is how many rows that are.
func (c Counts) Total() int {
	return c.Groups + c.Roles + c.GlobalGrants + c.GlobalRevokes + c.Users + c.PendingRequests
}

// CountsOf counts a snapshot.
func CountsOf(s provider.OrgSnapshot) Counts {
	return Counts{len(s.Groups), len(s.Roles), len(s.GlobalGrants), len(s.GlobalRevokes), len(s.Users), len(s.PendingGlobalRequests)}
}

// Merge merges the incoming organizations into the current one, one after the other
// in ascending order of name. Each conflict needs its resolution, by id. A fingerprint
// other than "" must be that of the conflicts.
//
// The error is an *authz.PromotionConflictError, or an *authz.WriteRejectedError about
// a side that cannot be merged: CodeValidation, CodeGraphCycle. Beside conflicts the
// result has no snapshot, but the warnings and counts of a merge that keeps apart what
// is not settled: what a dry run tells.
func Merge(current Side, incoming []Side, resolutions map[string]authz.Resolution, fingerprint string) (Result, error) {
	if err := checkNames(incoming); err != nil {
		return Result{}, err
	}
	if err := cmp.Or(current.check(), current.checkManagers()); err != nil {
		return Result{}, err
	}
	for i := range incoming {
		if err := cmp.Or(incoming[i].check(), incoming[i].checkCloud()); err != nil {
			return Result{}, err
		}
	}
	m := &merger{resolutions: resolutions}
	incoming = slices.SortedFunc(slices.Values(incoming), func(a, b Side) int { return cmp.Compare(a.Name, b.Name) })
	current.Snapshot = cloned(current.Snapshot)
	for _, side := range incoming {
		prefix := ""
		if len(incoming) > 1 {
			prefix = side.Name + "/"
		}
		side.Snapshot = cloned(side.Snapshot)
		current = m.merge(current, side, prefix)
	}
	result := Result{Counts: CountsOf(current.Snapshot), Warnings: m.warnings.all()}
	slices.SortFunc(m.conflicts, func(a, b authz.Conflict) int { return cmp.Compare(a.ID, b.ID) })
	var err error
	if result.Fingerprint, err = fingerprintOf(m.conflicts); err != nil {
		return result, err
	}
	if err := m.judge(fingerprint, result.Fingerprint); err != nil {
		return result, err
	}
	order(&current.Snapshot)
	result.Snapshot = current.Snapshot
	return result, nil
}

// merger is one call of Merge.
type merger struct {
	resolutions map[string]authz.Resolution
	conflicts   []authz.Conflict
	open        map[string]bool   // conflicts without a resolution
	refused     map[string]string // by id of conflict: why its resolution does not fit
	guessed     bool              // some conflict was passed over
	warnings    warnings
}

// merge is one step: current with one incoming side in it. Where a conflict is open
// it goes on with a guess, so that the conflicts of later sides are told too; what it
// returns is then no result.
func (m *merger) merge(current, incoming Side, prefix string) Side {
	s := &step{merger: m, prefix: prefix, current: current, incoming: incoming,
		a: indexed(&current), b: indexed(&incoming)}
	s.findWidening()
	s.findGroups()
	s.findRoles()
	s.findReporting()
	s.settle()
	s.apply()
	return Side{
		Name:       current.Name,
		Namespaces: set(slices.Concat(current.Namespaces, incoming.Namespaces)),
		Whole:      true, // each row was judged
		Snapshot:   s.join(),
		Named:      slices.Concat(current.Named, incoming.Named),
		Taken:      current.Taken,
	}
}

// judge refuses a merge that is not settled. A stale fingerprint comes first: what was
// decided then may have been about something else.
func (m *merger) judge(fingerprint, own string) error {
	refuse := func(code authz.PromotionCode, listed []authz.Conflict, format string, args ...any) error {
		return &authz.PromotionConflictError{Code: code, Message: fmt.Sprintf(format, args...),
			Conflicts: append([]authz.Conflict{}, listed...), Fingerprint: own}
	}
	if fingerprint != "" && fingerprint != own {
		return refuse(authz.StaleResolutions, m.conflicts, "the conflicts are not those that the resolutions were made for; decide again")
	}
	known := make([]string, len(m.conflicts))
	for i, c := range m.conflicts {
		known[i] = c.ID
	}
	for _, id := range slices.Sorted(maps.Keys(m.resolutions)) {
		if _, found := slices.BinarySearch(known, id); !found {
			m.refuse(id, "there is no such conflict%s", meant(id, known))
			break // one is told
		}
	}
	if refused := slices.Sorted(maps.Keys(m.refused)); len(refused) > 0 {
		return refuse(authz.InvalidResolution, m.conflicts, "%s: %s", spell.Quote(refused[0]), m.refused[refused[0]])
	}
	if n := len(m.open); n > 0 {
		open := slices.DeleteFunc(slices.Clone(m.conflicts), func(c authz.Conflict) bool { return !m.open[c.ID] })
		if n == 1 {
			return refuse(authz.UnresolvedConflicts, open, "1 conflict")
		}
		return refuse(authz.UnresolvedConflicts, open, "%d conflicts", n)
	}
	return nil
}

func meant(id string, known []string) string {
	if near := spell.Nearest(id, known); near != "" {
		return "; did you mean " + spell.Quote(near) + "?"
	}
	return ""
}

// undo refuses a resolution for what it leads to, which only a merge without guesses
// tells.
func (m *merger) undo(id, format string, args ...any) {
	if !m.guessed {
		m.refuse(id, format, args...)
	}
}

// refuse keeps the first reason against a resolution.
func (m *merger) refuse(id, format string, args ...any) {
	if m.refused == nil {
		m.refused = map[string]string{}
	}
	if _, ok := m.refused[id]; !ok {
		m.refused[id] = fmt.Sprintf(format, args...)
	}
}

// fingerprintOf hashes what the conflicts are about (spec: merge §5). Counts of blocking rows are left
// out: they change with every row, and what they forbid stands in the actions.
func fingerprintOf(conflicts []authz.Conflict) (string, error) {
	hashed := slices.Clone(conflicts)
	for i := range hashed {
		hashed[i].Blocked = nil
	}
	if hashed == nil {
		hashed = []authz.Conflict{}
	}
	sum, err := hashOf(hashed)
	if err != nil {
		return "", fmt.Errorf("the fingerprint of the conflicts: %w", err)
	}
	return "sha256:" + sum, nil
}

// hashOf is the hash of a value's canonical JSON.
func hashOf(v any) (string, error) {
	raw, err := authz.Marshal(v)
	if err != nil {
		return "", err
	}
	text, err := authz.Canonical(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
