package postgres

import (
	"slices"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
)

// Edges are read with the row that they belong to, in their order.
const (
	parentsOfRow = `array(select e."parentId" from "AuthzGroupParent" e where e."app" = t."app" and e."childId" = t."id" order by e."ordinal", e."parentId")`
	groupsOfRow  = `array(select e."groupId" from "AuthzMembership" e where e."app" = t."app" and e."userId" = t."userId" order by e."ordinal", e."groupId")`
)

var (
	selectGrants   = selectRows(relational.Grants)
	selectRevokes  = selectRows(relational.Revokes)
	selectRoles    = selectRows(relational.Roles)
	selectGroups   = selectRows(relational.Groups, parentsOfRow)
	selectUsers    = selectRows(relational.Users, groupsOfRow)
	selectRequests = selectRows(relational.Requests)
	selectRecords  = selectRows(relational.Records)
)

func selectRows[T any](e relational.Entity[T], further ...string) string {
	text := "select " + quoted(e.Columns, "t.")
	for _, expression := range further {
		text += ", " + expression
	}
	return text + ` from "` + e.Table + `" t`
}

// further scans the columns of a row and, behind them, others.
func further(scan relational.Scan, others ...any) relational.Scan {
	return func(dest ...any) error { return scan(append(slices.Clone(dest), others...)...) }
}

func scanGroup(scan relational.Scan) (authz.Group, error) {
	var parents []string
	g, err := relational.Groups.Scan(further(scan, &parents))
	g.Parents = parents
	return g, err
}

func scanUser(scan relational.Scan) (authz.User, error) {
	var groups []string
	u, err := relational.Users.Scan(further(scan, &groups))
	u.GroupIDs = groups
	return u, err
}

func scanText(scan relational.Scan) (s string, err error) { return s, scan(&s) }

func scanNumber(scan relational.Scan) (n int64, err error) { return n, scan(&n) }
