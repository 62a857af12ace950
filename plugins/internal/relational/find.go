package relational

import "github.com/authzhost/authz/sdk/authz"

// Condition is one of a query, with a ? for each argument.
type Condition struct {
	Text string
	Args []any
}

// GrantConditions select the grants of a search, in SQL that PostgreSQL and SQLite read
// alike.
func GrantConditions(q authz.GrantSearch) (all []Condition) {
	and := func(text string, args ...any) { all = append(all, Condition{text, args}) }
	for _, member := range []struct {
		column string
		value  *string
	}{{"subject", q.Subject}, {"scope", q.Scope}, {"roleId", q.RoleID}, {"pattern", q.Pattern}} {
		switch {
		case member.value == nil:
		case *member.value == "": // a grant without a role has NULL, which is no role's id
			and("1 = 0")
		default:
			and(`"`+member.column+`" = ?`, *member.value)
		}
	}
	if q.Actor != nil {
		if *q.Actor == "" {
			and("1 = 0")
		} else {
			and(Indexed("givenBy")+" = ?", *q.Actor)
		}
	}
	switch {
	case instancesByID(q):
		and(Indexed("instance") + " > ''")
	case instancesByTime(q):
		and(Indexed("instanceAt")+" >= ?", -authz.MaxInstant) // SQLite looks for no NULL in an index of expressions
	case q.Instances:
		and(`"scope" <> '*'`)
	}
	if q.Expires != nil && !*q.Expires {
		and(`"expiresAt" is null`)
	}
	if q.Expires != nil && *q.Expires || q.Order == authz.GrantsExpiring {
		and(`"expiresAt" is not null`)
	}
	created := `"createdAt"`
	if instancesByTime(q) {
		created = Indexed("instanceAt")
	}
	for _, bound := range []struct {
		text  string
		value *int64
	}{{`"expiresAt" >= ?`, q.ExpiresFrom}, {`"expiresAt" < ?`, q.ExpiresTo}, {created + " >= ?", q.CreatedFrom}, {created + " < ?", q.CreatedTo}} {
		if bound.value != nil {
			and(bound.text, *bound.value)
		}
	}
	return all
}

// instancesByID are many: what is of one subject or actor is found by that.
func instancesByID(q authz.GrantSearch) bool {
	return q.Instances && q.Order == authz.GrantsByID && q.Subject == nil && q.Actor == nil
}

func instancesByTime(q authz.GrantSearch) bool {
	return q.Instances && q.Order == authz.GrantsNewest && q.Subject == nil && q.Actor == nil
}

// GrantOrder is the order of a search in SQL, and the condition that a grant comes after a
// place in it.
func GrantOrder(q authz.GrantSearch, after authz.GrantPlace) (order string, above Condition) {
	switch {
	case instancesByID(q):
		return Indexed("instance"), Condition{Indexed("instance") + " > ?", []any{after.ID}}
	case instancesByTime(q):
		at := Indexed("instanceAt")
		return at + ` desc, "id" desc`, Condition{"(" + at + `, "id") < (?, ?)`, []any{after.At, after.ID}}
	case q.Order == authz.GrantsNewest:
		return `"createdAt" desc, "id" desc`, Condition{`("createdAt", "id") < (?, ?)`, []any{after.At, after.ID}}
	case q.Order == authz.GrantsExpiring:
		return `"expiresAt", "id"`, Condition{`("expiresAt", "id") > (?, ?)`, []any{after.At, after.ID}}
	}
	return `"id"`, Condition{`"id" > ?`, []any{after.ID}}
}
