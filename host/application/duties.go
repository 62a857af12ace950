package application

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// SoD configures the separation of duties that the catalog declares
// (spec: application §14.1).
type SoD struct {
	// Enforce is SoDOff unless set. With SoDReject a grant to a user that breaks
	// a constraint which the user did not break before is refused, and one
	// CreateGrants may name at most MaxDutyUsers users.
	Enforce SoDEnforce
}

// SoDEnforce says what becomes of a grant that breaks a constraint.
type SoDEnforce string

// The values of SoDEnforce.
const (
	SoDOff    SoDEnforce = "off"    // written; ListSodViolations finds it
	SoDReject SoDEnforce = "reject" // refused with CodeConflict
)

// MaxDutyUsers bounds the users of one CreateGrants under SoDReject: each costs
// an exclusive section, held at the same time as all the others.
const MaxDutyUsers = 1000

const sectionDuty = "sod:"

// enforcesDuties reports that grants to users are judged at all.
func (a *Application) enforcesDuties() bool { return a.enforce && !a.duties.Empty() }

// dutySections names the sections of the users that the grants are for, so that
// two halves of a violation cannot slip past each other. Their order keeps two
// batches from waiting for one another.
func (a *Application) dutySections(in ...provider.GrantInput) ([]string, error) {
	if !a.enforcesDuties() {
		return nil, nil
	}
	var sections []string
	for _, g := range in {
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectUser {
			sections = append(sections, sectionDuty+id)
		}
	}
	slices.Sort(sections)
	sections = slices.Compact(sections)
	if len(sections) > MaxDutyUsers {
		return nil, authz.Validation("inputs must name at most %d users while separation of duties is enforced", MaxDutyUsers)
	}
	return sections, nil
}

// separate refuses the first row that breaks a constraint for its user, judged
// with what the user has, without the grants that are gone, and with the rows before
// it. roles are those that the rows name.
func (d *draft) separate(ctx context.Context, rows []authz.Grant, roles map[string]authz.Role, gone map[string]bool) error {
	if !d.app.enforcesDuties() {
		return nil
	}
	holders := map[string]*compiled.Duties{}
	for _, row := range rows {
		kind, id, _ := authz.ParseSubject(row.Subject)
		if kind != authz.SubjectUser {
			continue
		}
		holder := holders[id]
		if holder == nil {
			data, err := d.app.rowsOf(ctx, d.app.judged, authz.UserPrincipal(id), d.now)
			if err != nil {
				return err
			}
			data.Grants = slices.DeleteFunc(slices.Clone(data.Grants), func(g authz.Grant) bool { return gone[g.ID] })
			holder = d.app.duties.Duties(&data, d.now)
			holders[id] = holder
		}
		if broken := holder.Add(row, roles[row.RoleID].Patterns); broken != nil {
			return authz.Rejected(authz.CodeConflict, "grant violates separation-of-duty constraint %s: the subject would hold %s",
				spell.Quote(broken.ConstraintID), heldSets(broken.Sets))
		}
	}
	return nil
}

// maxEchoedKeys bounds how many keys of a set a message repeats.
const maxEchoedKeys = 8

func heldSets(sets []access.HeldSet) string {
	lists := make([]string, len(sets))
	for i, s := range sets {
		shown := slices.Clone(s.Keys[:min(len(s.Keys), maxEchoedKeys)])
		if left := len(s.Keys) - len(shown); left > 0 {
			shown = append(shown, fmt.Sprintf("…(+%d more)", left))
		}
		lists[i] = "[" + strings.Join(shown, ", ") + "]"
	}
	return strings.Join(lists, " and ")
}
