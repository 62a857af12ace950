package orgmerge_test

import (
	"fmt"
	"testing"

	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// large is an organization of 10,000 people, 2,000 groups and 30,000 grants. The
// people are the same on every side, and so are half of the groups; ids of grants
// collide, and so do some groups and roles.
func large(name string, n int) orgmerge.Side {
	s := provider.OrgSnapshot{Groups: []authz.Group{}, Roles: []authz.Role{}, GlobalRevokes: []authz.Revoke{}, PendingGlobalRequests: []authz.Request{}}
	group := func(i int) string {
		if i%2 == 0 {
			return fmt.Sprintf("shared%d", i)
		}
		return fmt.Sprintf("%s%d", name, i)
	}
	for i := range 2000 * n / 10000 {
		g := authz.Group{ID: group(i), Name: fmt.Sprintf("Group %d", i)}
		if i > 1 {
			g.Parents = []string{group(i / 4 * 2)}
		}
		s.Groups = append(s.Groups, g)
		if i < 500 {
			s.Roles = append(s.Roles, authz.Role{ID: fmt.Sprintf("role%d", i), Name: fmt.Sprintf("Role %d", i), Patterns: []string{name + ".files.*"}})
		}
	}
	groups := len(s.Groups)
	for i := range n {
		u := authz.User{UserID: fmt.Sprintf("u%d", i), Active: true, OrgIDs: []string{"acme"}, GroupIDs: []string{group(i % groups), group((i*7 + 1) % groups)}}
		if i > 0 {
			u.ManagerUserID = fmt.Sprintf("u%d", i/8)
		}
		s.Users = append(s.Users, u)
	}
	for i := range 3 * n {
		g := authz.Grant{ID: fmt.Sprintf("grant%d", i), Subject: "group:" + group(i%groups), Scope: "*", Provenance: authz.Provenance{Kind: authz.ProvenanceSystem}, CreatedAt: 1}
		if i%2 == 0 {
			g.RoleID = fmt.Sprintf("role%d", i%500)
		} else {
			g.Pattern = name + ".files.read"
		}
		s.GlobalGrants = append(s.GlobalGrants, g)
	}
	return orgmerge.Side{Name: name, Namespaces: []string{name}, Snapshot: s}
}

// BenchmarkMerge says how the work grows with the organization.
func BenchmarkMerge(b *testing.B) {
	for _, people := range []int{1000, 10000, 40000} {
		b.Run(fmt.Sprintf("people=%d", people), func(b *testing.B) {
			current, incoming := large("docs", people), []orgmerge.Side{large("billing", people)}
			_, err := orgmerge.Merge(current, incoming, nil, "")
			refused, ok := err.(*authz.PromotionConflictError)
			if !ok {
				b.Fatal(err)
			}
			decided := map[string]authz.Resolution{}
			for i, c := range refused.Conflicts {
				decided[c.ID] = authz.Resolution{Action: authz.ActionRenameIncoming, NewID: fmt.Sprintf("new%d", i)}
			}
			b.ReportMetric(float64(len(refused.Conflicts)), "conflicts")
			for b.Loop() {
				if _, err := orgmerge.Merge(current, incoming, decided, refused.Fingerprint); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
