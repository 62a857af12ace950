package catalog

import "iter"

// fields reads the members of one entry and collects what is wrong with them,
// to be reported under the entry's own path.
type fields struct{ faults []fault }

func (f *fields) bad(field, problem string) {
	f.faults = append(f.faults, fault{field, problem})
}

// members yields the members that are not null, each name once.
func (f *fields) members(object *node, under string) iter.Seq[member] {
	return func(yield func(member) bool) {
		for m, repeated := range object.named() {
			if repeated {
				f.bad(under+m.name, "is given more than once")
				continue
			}
			if m.value.kind != nullNode && !yield(m) {
				return
			}
		}
	}
}

func (f *fields) text(field string, n *node) string {
	if n.kind != stringNode {
		f.bad(field, "must be a string "+got(n))
	}
	return n.string()
}

func (f *fields) texts(field string, n *node) []string {
	list, ok := n.strings()
	if !ok {
		f.bad(field, "must be an array of strings "+got(n))
	}
	return list
}

func (f *fields) flag(field string, n *node) bool {
	if n.kind != boolNode {
		f.bad(field, "must be a boolean "+got(n))
	}
	return n.kind == boolNode && n.text == "true"
}

// list yields the items of an array.
func (f *fields) list(field string, n *node) []*node {
	if n.kind != arrayNode {
		f.bad(field, "must be an array "+got(n))
	}
	return n.items
}

// object yields the members of what must be an object.
func (f *fields) object(path string, n *node) iter.Seq[member] {
	if n.kind != objectNode {
		f.bad(path, "must be an object "+got(n))
	}
	return f.members(n, path+".")
}
