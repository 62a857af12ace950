package orgmerge

import (
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// warnReach tells of grants to reports of somebody, or to an org, that reach more people
// than on their own side: the other side knows of some.
func (s *step) warnReach(side *Side, grants []authz.Grant, after map[string]int) {
	before := reach(side.Snapshot.Users)
	told := map[string]bool{}
	for _, g := range grants {
		if more := after[g.Subject] - before[g.Subject]; more > 0 && !told[g.Subject] {
			told[g.Subject] = true
			s.warnings.add("subjects whose grants reach more people", "grants of %s to %s reach %d people more",
				spell.Quote(side.Name), spell.Quote(g.Subject), more)
		}
	}
}

// reach counts the people of orgs and of implicit groups, by subject.
func reach(users []authz.User) map[string]int {
	count := map[string]int{}
	managers := managersOf(users)
	direct := make(map[string]int, len(managers)) // reports that are not counted yet
	for _, m := range managers {
		direct[m]++
		count[authz.SubjectOf(authz.SubjectDirects, m)]++
	}
	var ready []string
	for user := range managers {
		if direct[user] == 0 {
			ready = append(ready, user)
		}
	}
	for len(ready) > 0 { // upwards, each user after all reports
		user := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		m, ok := managers[user]
		if !ok {
			continue
		}
		count[authz.SubjectOf(authz.SubjectOrgOf, m)] += 1 + count[authz.SubjectOf(authz.SubjectOrgOf, user)]
		if direct[m]--; direct[m] == 0 {
			ready = append(ready, m)
		}
	}
	for _, u := range users {
		for _, o := range set(u.OrgIDs) {
			count[authz.SubjectOf(authz.SubjectOrg, o)]++
		}
	}
	return count
}
