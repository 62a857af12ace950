package config

import "strings"

// section is the tree of Keys: a leaf has a key, any other node has members by
// name, and each for the names that the operator chooses.
type section struct {
	key     *Key
	off     bool // unless it is given
	order   []string
	members map[string]*section
	each    *section
	older   map[string]string // names of before, and those of now
}

const anyName = "<name>"

func schema() *section {
	root := &section{}
	for _, k := range Keys() {
		around, at := root, root
		for segment := range strings.SplitSeq(k.Path, ".") {
			around, at = at, at.child(segment)
		}
		at.key = &k
		around.off = around.off || k.Switch
		if k.Older != "" {
			if around.older == nil {
				around.older = map[string]string{}
			}
			around.older[k.Older] = k.Path[strings.LastIndexByte(k.Path, '.')+1:]
		}
	}
	return root
}

func (s *section) child(segment string) *section {
	if segment == anyName {
		if s.each == nil {
			s.each = &section{}
		}
		return s.each
	}
	if s.members == nil {
		s.members = map[string]*section{}
	}
	next, ok := s.members[segment]
	if !ok {
		next = &section{}
		s.members[segment] = next
		s.order = append(s.order, segment)
	}
	return next
}

// find returns the node that a path leads to, nil when there is none.
func (s *section) find(path []string) *section {
	for _, segment := range path {
		next := s.members[segment]
		if next == nil {
			next = s.each
		}
		if next == nil {
			return nil
		}
		s = next
	}
	return s
}
