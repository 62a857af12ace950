package api

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// The schemas of provider-api §10, read from objects.

func principal(o object) authz.Principal {
	return authz.Principal{UserID: o.id("userId"), ServiceID: o.id("serviceId")}
}

func grantInput(o object) provider.GrantInput {
	return provider.GrantInput{
		Subject:   o.text("subject"),
		RoleID:    o.nonEmpty("roleId"),
		Pattern:   o.pattern("pattern"),
		Scope:     o.scope("scope"),
		ExpiresAt: o.expiry("expiresAt"),
	}
}

func revokeInput(o object) provider.RevokeInput {
	return provider.RevokeInput{
		UserID:  o.text("userId"),
		Pattern: o.text("pattern"),
		Scope:   o.scope("scope"),
	}
}

func grantQuery(o object, page provider.Paging) provider.GrantQuery {
	return provider.GrantQuery{
		Subject: o.filterText("subject"),
		Scope:   o.filterText("scope"),
		RoleID:  o.filterText("roleId"),
		Paging:  page,
	}
}

func revokeQuery(o object, page provider.Paging) provider.RevokeQuery {
	return provider.RevokeQuery{UserID: o.filterText("userId"), Scope: o.filterText("scope"), Paging: page}
}

func auditQuery(o object) provider.AuditQuery {
	q := provider.AuditQuery{
		Target: o.filterText("target"),
		Actor:  o.filterText("actor"),
		Action: o.filterText("action"),
		From:   o.filterInteger("from"),
		To:     o.filterInteger("to"),
		Limit:  o.filterInteger("limit"),
	}
	if raw, ok := o.raw("cursor"); ok {
		q.Cursor = auditCursor(o, "cursor", raw)
	}
	return q
}

func auditCursor(o object, field string, raw []byte) *authz.AuditCursor {
	cursor, ok := o.inner(raw)
	if !ok {
		o.refuse(field, "an object with the members at and id")
		return nil
	}
	cursor.required("at", "an integer")
	cursor.required("id", "a string")
	return &authz.AuditCursor{At: cursor.integer("at", 0), ID: cursor.text("id")}
}

func roleInput(o object) provider.RoleInput {
	o.required("name", "a string")
	o.required("patterns", "a list of strings")
	in := provider.RoleInput{
		ID:          o.optionalText("id"),
		Name:        o.text("name"),
		Description: o.text("description"),
		Patterns:    o.texts("patterns"),
	}
	if o.has("requestable") {
		in.Requestable = requestable(o.nested("requestable"))
	}
	return in
}

// roleUpdate is the one input in which null is a value: it clears.
func roleUpdate(o object) provider.RoleUpdate {
	in := provider.RoleUpdate{
		Name:        o.optionalText("name"),
		Description: o.optionalText("description"),
	}
	if raw, ok := o.raw("description"); ok && isNull(raw) {
		in.Description = new(string)
	}
	if o.has("patterns") {
		patterns := o.texts("patterns")
		in.Patterns = &patterns
	}
	if raw, ok := o.raw("requestable"); ok && isNull(raw) {
		in.ClearRequestable = true
	} else if ok {
		in.Requestable = requestable(o.nested("requestable"))
	}
	return in
}

// requestable reads types only: what a stage or predicate must hold is judged by
// the application.
func requestable(o object) *authz.Requestable {
	o.required("stages", "a list of objects")
	if o.has("maxDurationMs") && o.integer("maxDurationMs", 0) < 1 {
		o.refuse("maxDurationMs", "an integer of at least 1") // 0 would mean that there is none
	}
	r := &authz.Requestable{
		MaxDurationMs: o.integer("maxDurationMs", 0),
		RequireExpiry: o.flag("requireExpiry"),
		Stages:        []authz.Stage{},
	}
	for _, p := range o.objects("prompts") {
		p.required("id", "a string")
		p.required("label", "a string")
		r.Prompts = append(r.Prompts, authz.Prompt{
			ID: p.text("id"), Label: p.text("label"), Kind: p.nonEmpty("kind"),
			Options: p.texts("options"), Required: p.optionalFlag("required"),
		})
	}
	r.Stages = append(r.Stages, stages(o)...)
	return r
}

func stages(o object) []authz.Stage {
	list := []authz.Stage{}
	for _, s := range o.objects("stages") {
		s.required("kind", "a string")
		stage := authz.Stage{Kind: s.text("kind"), RoleID: s.text("roleId"), Layers: s.optionalInteger("layers")}
		if s.has("predicate") {
			p := s.nested("predicate")
			p.required("type", "a string")
			stage.Predicate = &authz.Predicate{Type: p.text("type"), GroupID: p.text("groupId"),
				OrgID: p.text("orgId"), Subject: p.text("subject"), Pattern: p.text("pattern")}
		}
		list = append(list, stage)
	}
	return list
}

func groupInput(o object) provider.GroupInput {
	o.required("name", "a string")
	return provider.GroupInput{
		ID:          o.optionalText("id"),
		Name:        o.text("name"),
		Description: o.text("description"),
		Parents:     o.texts("parents"),
	}
}

func groupUpdate(o object) provider.GroupUpdate {
	return provider.GroupUpdate{Name: o.optionalText("name"), Description: o.optionalText("description")}
}

// scopeParents insists on the member parents: its absence must not read as null,
// which forgets the scope.
func scopeParents(o object) provider.ScopeParents {
	const want = "a list of strings or null"
	o.required("scope", "a string")
	entry := provider.ScopeParents{Scope: o.text("scope")}
	raw, ok := o.raw("parents")
	switch {
	case !ok:
		o.refuse("parents", want)
	case !isNull(raw):
		parents := o.texts("parents")
		entry.Parents = &parents
	}
	return entry
}
