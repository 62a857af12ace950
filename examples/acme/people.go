package acme

import (
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
)

var divisions = []string{"product", "sales", "finance", "people", "operations", "legal"}

var orgs = []string{"acme_europe", "acme_america", "acme_asia", "acme_labs", "acme_partners"}

// The company in ranks: u_1 leads it, then come the leads of divisions,
// departments and teams, then everybody else.
const (
	departmentsEach  = 3
	departmentCount  = 18
	teamCount        = 35
	leadCount        = 1 + 6 + departmentCount + teamCount
	deactivatedCount = 60
)

// people makes the groups, the users with their memberships, orgs and managers,
// and the services.
func (g *generator) people() {
	add := func(id, name string, parents ...string) string {
		g.world.Groups = append(g.world.Groups, authz.Group{ID: id, Name: name, Parents: parents})
		return id
	}
	company := add("g_acme", "Everybody at Acme")
	var divisionIDs, departmentIDs, teamIDs []string
	for _, d := range divisions {
		divisionIDs = append(divisionIDs, add("g_"+d, "Division "+d, company))
	}
	for i, d := range divisions {
		for n := 1; n <= departmentsEach; n++ {
			departmentIDs = append(departmentIDs,
				add(fmt.Sprintf("g_%s_%d", d, n), fmt.Sprintf("Department %d of %s", n, d), divisionIDs[i]))
		}
	}
	for t := range teamCount {
		parents := []string{departmentIDs[t%departmentCount]}
		if t%7 == 3 { // a team that works for two departments
			parents = append(parents, departmentIDs[(t+5)%departmentCount])
		}
		teamIDs = append(teamIDs, add(fmt.Sprintf("g_team_%d", t+1), fmt.Sprintf("Team %d", t+1), parents...))
	}

	lead := func(i int) string { return userID(i + 1) } // leads stand in the order of their groups
	for n := 1; n <= UserCount; n++ {
		u := authz.User{UserID: userID(n), Active: true}
		switch i := n - 1; {
		case i == 0:
			u.GroupIDs = []string{company}
		case i < 1+len(divisionIDs):
			u.GroupIDs, u.ManagerUserID = []string{divisionIDs[i-1]}, lead(0)
		case i < 1+len(divisionIDs)+departmentCount:
			d := i - 1 - len(divisionIDs)
			u.GroupIDs, u.ManagerUserID = []string{departmentIDs[d]}, lead(1+d/departmentsEach)
		case i < leadCount:
			t := i - 1 - len(divisionIDs) - departmentCount
			u.GroupIDs, u.ManagerUserID = []string{teamIDs[t]}, lead(1+len(divisionIDs)+t%departmentCount)
		case chance(g.rng, 3): // works for a division lead, in no group
			u.ManagerUserID = lead(1 + g.rng.IntN(len(divisionIDs)))
		default:
			t := g.rng.IntN(teamCount)
			u.GroupIDs, u.ManagerUserID = []string{teamIDs[t]}, lead(1+len(divisionIDs)+departmentCount+t)
			if chance(g.rng, 15) {
				u.GroupIDs = append(u.GroupIDs, pick(g.rng, departmentIDs))
			}
		}
		if !chance(g.rng, 3) {
			home := g.rng.IntN(len(orgs))
			u.OrgIDs = []string{orgs[home]}
			if chance(g.rng, 5) {
				u.OrgIDs = append(u.OrgIDs, orgs[(home+1)%len(orgs)])
			}
		}
		g.world.Users = append(g.world.Users, u)
	}
	for left := deactivatedCount; left > 0; {
		u := &g.world.Users[1+len(divisionIDs)+departmentCount+g.rng.IntN(UserCount-1-len(divisionIDs)-departmentCount)]
		if u.Active {
			u.Active = false
			left--
		}
	}
	for _, s := range []string{"indexer", "thumbnailer", "mailer", "archiver", "backup", "importer",
		"invoicing", "dunning", "ledger", "reporting", "support_bot", "webhooks"} {
		g.world.Services = append(g.world.Services, "svc_"+s)
	}
}
