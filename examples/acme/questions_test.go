package acme

import (
	"fmt"
	"slices"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func TestQuestionsAreFiveHundredDifferentOnes(t *testing.T) {
	seen := map[ask]bool{}
	for _, q := range asked() {
		if seen[q.ask()] {
			t.Errorf("asked twice: %+v", q.ask())
		}
		seen[q.ask()] = true
		if err := q.Principal.Validate(); err != nil {
			t.Errorf("%+v: %v", q, err)
		}
		if q.Why == "" {
			t.Errorf("%+v says no why", q)
		}
	}
	if len(seen) != QuestionCount {
		t.Errorf("%d questions, want %d", len(seen), QuestionCount)
	}
}

func TestQuestionsAreFortyToSixtyPercentDenied(t *testing.T) {
	denied := 0
	for _, q := range asked() {
		if !q.Want {
			denied++
		}
	}
	if percent := 100 * denied / len(asked()); percent < 40 || percent > 60 {
		t.Errorf("%d %% denied", percent)
	}
}

func TestTheFirstQuestionIsTheQuickstartsAndAllowed(t *testing.T) {
	first := asked()[0]
	if first.Principal.Subject() != quickstartUser || first.Scope != quickstartDoc || !first.Want {
		t.Errorf("first question is %+v", first)
	}
}

func TestNoQuestionNeedsAConditionOrAnUnrecordedScope(t *testing.T) {
	w := generated()
	recorded := map[string]bool{authz.Global: true}
	for _, s := range w.Scopes {
		recorded[s.ID] = true
	}
	for _, a := range w.Accounts {
		recorded[a] = true
	}
	k := newWalk(w, permissions())
	for _, q := range asked() {
		if k.leaves[q.Key].marks&conditional != 0 {
			t.Errorf("%s needs a condition, which no wire check can carry", q.Key)
		}
		if !recorded[q.Scope] {
			t.Errorf("%q is no scope of the world", q.Scope)
		}
	}
}

// copyOf is deep enough to take rows out of it.
func copyOf(w *World) *World {
	c := *w
	c.Grants, c.Revokes, c.Users = slices.Clone(w.Grants), slices.Clone(w.Revokes), slices.Clone(w.Users)
	return &c
}

// stripped is a world from which what the factor stands for has really been
// taken, row by row, and the leaves to read it with. It is written without the
// removals that generating used.
func stripped(w *World, f Factor, q Question) (*World, []permission) {
	c, leaves := copyOf(w), permissions()
	var groups []string
	for _, u := range w.Users {
		if u.UserID == q.Principal.UserID {
			groups = u.GroupIDs
		}
	}
	ofKind := func(kind authz.SubjectKind) func(Grant) bool {
		return func(g Grant) bool { got, _, _ := authz.ParseSubject(g.Subject); return got == kind }
	}
	direct := func(g Grant) bool { _, id, _ := authz.ParseSubject(g.Subject); return slices.Contains(groups, id) }
	above := func(scope string) bool {
		for at := parentOf(w, q.Scope); at != ""; at = parentOf(w, at) {
			if at == scope {
				return true
			}
		}
		return false
	}
	drop := func(which func(Grant) bool) { c.Grants = slices.DeleteFunc(c.Grants, which) }
	dropRevokes := func(which func(scope string) bool) {
		c.Revokes = slices.DeleteFunc(c.Revokes, func(r provider.RevokeInput) bool { return which(r.Scope) })
	}
	switch f {
	case FactorUser, FactorOrg, FactorEveryone, FactorService, FactorDirects, FactorOrgOf:
		drop(ofKind(authz.SubjectKind(f)))
	case FactorGroup:
		drop(func(g Grant) bool { return ofKind(authz.SubjectGroup)(g) && direct(g) })
	case FactorNestedGroup:
		drop(func(g Grant) bool { return ofKind(authz.SubjectGroup)(g) && !direct(g) })
	case FactorRole:
		c.Roles = nil
	case FactorDated:
		drop(func(g Grant) bool { return !g.ExpiresAt.IsZero() })
	case FactorImplied:
		for i := range leaves {
			leaves[i].marks &^= implied
		}
	case FactorExpired:
		for i := range c.Grants {
			c.Grants[i].ExpiresInMs = 0
		}
	case FactorDeactivated:
		for i := range c.Users {
			c.Users[i].Active = true
		}
	case FactorGlobalRevoke:
		dropRevokes(func(scope string) bool { return scope == authz.Global })
	case FactorScopeRevoke:
		dropRevokes(func(scope string) bool { return scope == q.Scope })
	case FactorInheritedRevoke:
		dropRevokes(above)
	case FactorImpliedRevoke:
		dropRevokes(func(scope string) bool { return scope != authz.Global && scope != q.Scope && !above(scope) })
	default:
		panic("unknown factor " + f)
	}
	return c, leaves
}

var parents = map[string]string{}

func parentOf(w *World, scope string) string {
	if len(parents) == 0 {
		for _, s := range w.Scopes {
			if len(s.Parents) > 0 {
				parents[s.ID] = s.Parents[0]
			}
		}
	}
	return parents[scope]
}

func TestEveryFactorDecidesAtLeastTenQuestions(t *testing.T) {
	const least = 10
	w := generated()
	// Worlds without a factor are alike for all questions, these apart.
	ofQuestion := []Factor{FactorGroup, FactorNestedGroup, FactorScopeRevoke, FactorInheritedRevoke, FactorImpliedRevoke}
	for _, f := range slices.Concat(Allowing, Denying) {
		t.Run(string(f), func(t *testing.T) {
			var without *walk
			decided := 0
			for _, q := range asked() {
				if !slices.Contains(q.Decides, f) {
					continue
				}
				if without == nil || slices.Contains(ofQuestion, f) {
					without = newWalk(stripped(w, f, q))
				}
				if got := without.ask(q.Principal.UserID, q.Principal.ServiceID, q.Key, q.Scope, removal{}); got.allowed == q.Want {
					t.Errorf("%s %s at %s stays %v without %s", q.Principal, q.Key, q.Scope, q.Want, f)
				}
				if decided++; decided == 2*least && slices.Contains(ofQuestion, f) {
					break // enough worlds built for one factor
				}
			}
			if decided < least {
				t.Errorf("%s decides %d questions, want at least %d", f, decided, least)
			}
		})
	}
}

func TestFiftyQuestionsNameTheRowThatDecides(t *testing.T) {
	w := generated()
	named := map[string]bool{}
	var grants, revokes int
	for _, q := range asked() {
		if !q.Deciding.Row() {
			continue
		}
		c := copyOf(w)
		var row string
		if i := q.Deciding.GrantIndex; i != nil {
			c.Grants = slices.Delete(c.Grants, *i, *i+1)
			row = fmt.Sprint("grant ", *i)
			grants++
		} else {
			c.Revokes = slices.Delete(c.Revokes, *q.Deciding.RevokeIndex, *q.Deciding.RevokeIndex+1)
			row = fmt.Sprint("revoke ", *q.Deciding.RevokeIndex)
			revokes++
		}
		if named[row] {
			t.Errorf("%s decides two questions", row)
		}
		named[row] = true
		got := newWalk(c, permissions()).ask(q.Principal.UserID, q.Principal.ServiceID, q.Key, q.Scope, removal{})
		if got.allowed == q.Want {
			t.Errorf("%s %s at %s stays %v without %s", q.Principal, q.Key, q.Scope, q.Want, row)
		}
	}
	if grants+revokes != DecidingCount || grants < 15 || revokes < 15 {
		t.Errorf("%d grants and %d revokes are named, want %d rows of both kinds", grants, revokes, DecidingCount)
	}
}

func TestDecidingRowsMayBeDeletedOneAfterAnotherInAnyOrder(t *testing.T) {
	k := newWalk(generated(), permissions())
	questions := asked()
	for _, order := range []string{"forwards", "backwards"} {
		gone := deletions{grants: map[int]bool{}, revokes: map[int]bool{}}
		for i := range questions {
			q := questions[i]
			if order == "backwards" {
				q = questions[len(questions)-1-i]
			}
			if !q.Deciding.Row() {
				continue
			}
			a := q.ask()
			before := k.ask(a.userID, a.serviceID, a.key, a.scope, gone.removal()).allowed
			gone.add(q.Deciding)
			after := k.ask(a.userID, a.serviceID, a.key, a.scope, gone.removal()).allowed
			if before != q.Want || after == q.Want {
				t.Errorf("%s: %+v answers %v, then %v; want %v, then the other", order, a, before, after, q.Want)
			}
		}
	}
}

func TestRowsOfAQuestionAreThoseThatMatch(t *testing.T) {
	w := generated()
	for _, q := range asked() {
		switch rows := len(q.Grants) + len(q.ImpliedBy); {
		case q.Want && (rows == 0 || len(q.Revokes) > 0):
			t.Errorf("%+v is allowed by %d rows against %d revokes", q.ask(), rows, len(q.Revokes))
		case !q.Want && len(q.ImpliedBy) > 0:
			t.Errorf("%+v is denied, and implied", q.ask())
		}
		for _, i := range q.Grants {
			if w.Grants[i].Expiring() {
				t.Errorf("%+v lists the expired grant %d", q.ask(), i)
			}
		}
		for _, i := range q.Revokes {
			if w.Revokes[i].UserID != q.Principal.UserID {
				t.Errorf("%+v lists somebody else's revoke %d", q.ask(), i)
			}
		}
	}
}
