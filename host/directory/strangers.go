package directory

import (
	"fmt"
	"maps"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	sdk "github.com/authzhost/authz/sdk/directory"
)

// leaveOut drops what an authoritative reading tells of people whom it does not
// tell: to make them would be to deactivate them on the next run.
func (r *run) leaveOut(c *sdk.Collected) {
	s := &c.Snapshot
	if s.Users == nil {
		return
	}
	known := make(map[string]bool, len(s.Users))
	for _, u := range s.Users {
		known[u.UserID] = true
	}
	strangers := map[string]bool{}
	drop(s.Memberships, known, strangers)
	drop(s.Orgs, known, strangers)
	drop(s.ReportingEdges, known, strangers)
	for _, id := range slices.Sorted(maps.Keys(strangers)) {
		if len(r.warnings) == sdk.MaxWarnings {
			r.warnings = append(r.warnings, fmt.Sprintf("and %d more who are not among the people", len(strangers)-sdk.MaxWarnings))
			return
		}
		r.warnings = append(r.warnings, "the user "+spell.Quote(id)+" is not among the people of the directory: memberships, orgs and manager are left out")
	}
}

func drop[V any](of map[string]V, known, strangers map[string]bool) {
	for id := range of {
		if !known[id] {
			strangers[id] = true
			delete(of, id)
		}
	}
}
