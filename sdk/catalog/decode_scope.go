package catalog

import "github.com/authzhost/authz/sdk/authz"

func (d decoder) scopeTypes(n *node) {
	if n.kind != objectNode {
		d.bad("scopeTypes", "must be an object")
		return
	}
	for m := range d.members(n, "scopeTypes.", anyNames) {
		d.in.ScopeTypes = append(d.in.ScopeTypes, d.scopeType(m.name, m.value))
	}
}

func (d decoder) scopeType(name string, n *node) ScopeType {
	t := ScopeType{Type: name}
	path := "scopeTypes." + name
	if n.kind != objectNode {
		d.bad(path, "must be an object")
		return t
	}
	for m := range d.members(n, path+".", scopeTypeShape) {
		at := path + "." + m.name
		switch m.name {
		case "description":
			t.Description = d.text(m.value, at)
		case "parent":
			t.Parent = d.text(m.value, at)
		case "multiParent":
			t.MultiParent = d.flag(m.value, at)
		case "requestable":
			f := fields{source: d.in.source, under: path, here: m.at}
			t.Requestable = f.requestable(m.value)
			d.requestableFaults(name, f.faults)
		}
	}
	return t
}

func (d decoder) requestableFaults(scopeType string, faults []fault) {
	if len(faults) == 0 {
		return
	}
	if d.in.requestableFaults == nil {
		d.in.requestableFaults = map[string][]fault{}
	}
	d.in.requestableFaults[scopeType] = faults
}

// requestable reads what the Go types can express; checkRequestable has the
// rules about values.
func (f *fields) requestable(n *node) *Requestable {
	if n.kind != objectNode {
		f.bad("requestable", "must be an object "+got(n))
		return nil
	}
	r := &Requestable{}
	const under = "requestable."
	for m := range f.members(n, under, requestableShape) {
		at := under + m.name
		switch m.name {
		case "prompts":
			for i, item := range f.list(at, m.value) {
				r.Prompts = append(r.Prompts, f.prompt(at+index(i), item))
			}
		case "maxDurationMs":
			ms, whole := m.value.integer()
			if !whole || ms <= 0 {
				f.bad(at, "must be a whole number of milliseconds above 0 "+got(m.value))
				continue
			}
			r.MaxDurationMs = ms
		case "requireExpiry":
			r.RequireExpiry = f.flag(at, m.value)
		case "patterns":
			r.Patterns = f.texts(at, m.value)
		case "policy":
			r.Stages = f.policy(at, m.value)
		}
	}
	return r
}

func (f *fields) policy(path string, n *node) []authz.Stage {
	if n.kind != objectNode {
		f.bad(path, "must be an object "+got(n))
		return nil
	}
	var stages []authz.Stage
	for m := range f.members(n, path+".", policyShape) {
		if m.name != "stages" {
			continue
		}
		at := path + ".stages"
		for i, item := range f.list(at, m.value) {
			stages = append(stages, f.stage(at+index(i), item))
		}
	}
	return stages
}

func (f *fields) prompt(path string, n *node) authz.Prompt {
	var p authz.Prompt
	for m := range f.object(path, n, promptShape) {
		at := path + "." + m.name
		switch m.name {
		case "id":
			p.ID = f.text(at, m.value)
		case "label":
			p.Label = f.text(at, m.value)
		case "kind":
			p.Kind = f.text(at, m.value)
		case "options":
			p.Options = f.texts(at, m.value)
		case "required":
			required := f.flag(at, m.value)
			p.Required = &required
		}
	}
	return p
}

func (f *fields) stage(path string, n *node) authz.Stage {
	var s authz.Stage
	for m := range f.object(path, n, stageShape) {
		at := path + "." + m.name
		switch m.name {
		case "kind":
			s.Kind = f.text(at, m.value)
		case "roleId":
			s.RoleID = f.text(at, m.value)
		case "layers":
			layers, whole := m.value.integer()
			if !whole {
				f.bad(at, "must be an integer of at least 1 "+got(m.value))
				continue
			}
			s.Layers = &layers
		case "predicate":
			s.Predicate = f.predicate(at, m.value)
		}
	}
	return s
}

func (f *fields) predicate(path string, n *node) *authz.Predicate {
	p := &authz.Predicate{}
	for m := range f.object(path, n, predicateShape) {
		at := path + "." + m.name
		switch m.name {
		case "type":
			p.Type = f.text(at, m.value)
		case "groupId":
			p.GroupID = f.text(at, m.value)
		case "orgId":
			p.OrgID = f.text(at, m.value)
		case "subject":
			p.Subject = f.text(at, m.value)
		case "pattern":
			p.Pattern = f.text(at, m.value)
		}
	}
	return p
}
