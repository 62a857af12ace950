package catalog

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

func (d decoder) scopeType(name string, v *text.Value) ScopeType {
	t := ScopeType{Type: name}
	path := "scopeTypes." + name
	for m := range d.Object(path, v, scopeTypeShape) {
		at := path + "." + m.Name
		switch m.Name {
		case "description":
			t.Description = d.Text(at, m.Value)
		case "parent":
			t.Parent = d.Text(at, m.Value)
		case "multiParent":
			t.MultiParent = d.Flag(at, m.Value)
		case "requestable":
			r := requestableReader{text.Fields{Places: d.Places, Under: path + ".", Here: m.At}}
			t.Requestable = r.requestable(m.Value)
			d.requestableFaults(name, r.Faults)
		}
	}
	return t
}

func (d decoder) requestableFaults(scopeType string, faults []text.Fault) {
	if len(faults) == 0 {
		return
	}
	if d.in.requestableFaults == nil {
		d.in.requestableFaults = map[string][]text.Fault{}
	}
	d.in.requestableFaults[scopeType] = faults
}

// requestableReader reads what the Go types can express; checkRequestable has the
// rules about values.
type requestableReader struct{ text.Fields }

func (f *requestableReader) requestable(v *text.Value) *Requestable {
	if v.Kind != text.Object {
		f.BadValue("requestable", "must be an object", v)
		return nil
	}
	r := &Requestable{}
	const under = "requestable."
	for m := range f.Members(v, under, requestableShape) {
		at := under + m.Name
		switch m.Name {
		case "prompts":
			for i, item := range f.List(at, m.Value) {
				r.Prompts = append(r.Prompts, f.prompt(at+text.Index(i), item))
			}
		case "maxDurationMs":
			ms, whole := m.Value.AsInteger()
			if !whole || ms <= 0 {
				f.BadValue(at, "must be a whole number of milliseconds above 0", m.Value)
				continue
			}
			r.MaxDurationMs = ms
		case "requireExpiry":
			r.RequireExpiry = f.Flag(at, m.Value)
		case "patterns":
			r.Patterns = f.Texts(at, m.Value)
		case "policy":
			r.Stages = f.policy(at, m.Value)
		}
	}
	return r
}

func (f *requestableReader) policy(path string, v *text.Value) []authz.Stage {
	var stages []authz.Stage
	for m := range f.Object(path, v, policyShape) {
		if m.Name != "stages" {
			continue
		}
		at := path + ".stages"
		for i, item := range f.List(at, m.Value) {
			stages = append(stages, f.stage(at+text.Index(i), item))
		}
	}
	return stages
}

func (f *requestableReader) prompt(path string, v *text.Value) authz.Prompt {
	var p authz.Prompt
	for m := range f.Object(path, v, promptShape) {
		at := path + "." + m.Name
		switch m.Name {
		case "id":
			p.ID = f.Text(at, m.Value)
		case "label":
			p.Label = f.Text(at, m.Value)
		case "kind":
			p.Kind = f.Text(at, m.Value)
		case "options":
			p.Options = f.Texts(at, m.Value)
		case "required":
			required := f.Flag(at, m.Value)
			p.Required = &required
		}
	}
	return p
}

func (f *requestableReader) stage(path string, v *text.Value) authz.Stage {
	var s authz.Stage
	for m := range f.Object(path, v, stageShape) {
		at := path + "." + m.Name
		switch m.Name {
		case "kind":
			s.Kind = f.Text(at, m.Value)
		case "roleId":
			s.RoleID = f.Text(at, m.Value)
		case "layers":
			layers, whole := m.Value.AsInteger()
			if !whole {
				f.BadValue(at, "must be an integer of at least 1", m.Value)
				continue
			}
			s.Layers = &layers
		case "predicate":
			s.Predicate = f.predicate(at, m.Value)
		}
	}
	return s
}

func (f *requestableReader) predicate(path string, v *text.Value) *authz.Predicate {
	p := &authz.Predicate{}
	for m := range f.Object(path, v, predicateShape) {
		at := path + "." + m.Name
		switch m.Name {
		case "type":
			p.Type = f.Text(at, m.Value)
		case "groupId":
			p.GroupID = f.Text(at, m.Value)
		case "orgId":
			p.OrgID = f.Text(at, m.Value)
		case "subject":
			p.Subject = f.Text(at, m.Value)
		case "pattern":
			p.Pattern = f.Text(at, m.Value)
		}
	}
	return p
}
