package input

import (
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// yaml checks a node, and makes dates the texts that they are in JSON. The parser
// refuses names that are given twice. A node that aliases repeat is looked at once.
func (c *fileCheck) yaml(n *yaml.Node, t reflect.Type, path string, seen map[*yaml.Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	switch n.Kind {
	case yaml.DocumentNode:
		c.yaml(n.Content[0], bare(t), path, seen)
	case yaml.AliasNode:
		c.yaml(n.Alias, t, path, seen)
	case yaml.SequenceNode:
		c.kind(t, aList, "", path, n.Line, n.Column)
		for i, item := range n.Content {
			c.yaml(item, element(t), fmt.Sprintf("%s[%d]", path, i), seen)
		}
	case yaml.MappingNode:
		c.kind(t, anObject, "", path, n.Line, n.Column)
		for i := 0; i+1 < len(n.Content); i += 2 {
			c.yamlMember(n.Content[i], n.Content[i+1], t, path, seen)
		}
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
		case "!!timestamp":
			n.Tag = "!!str"
		case "!!bool":
			c.kind(t, aFlag, n.Value, path, n.Line, n.Column)
		case "!!int", "!!float":
			c.kind(t, aNumber, n.Value, path, n.Line, n.Column)
		case "!!str":
			c.kind(t, aText, n.Value, path, n.Line, n.Column)
		default:
			c.bad(n.Line, n.Column, path, "values of type %s are not supported", n.ShortTag())
		}
	}
}

func (c *fileCheck) yamlMember(key, value *yaml.Node, t reflect.Type, path string, seen map[*yaml.Node]bool) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	switch tag := key.ShortTag(); {
	case tag == "!!merge" && value.Kind == yaml.SequenceNode:
		for _, merged := range value.Content {
			c.yaml(merged, t, path, seen)
		}
	case tag == "!!merge":
		c.yaml(value, t, path, seen)
	case key.Kind != yaml.ScalarNode || tag != "!!str" && tag != "!!timestamp":
		c.bad(key.Line, key.Column, path, "a member name must be a text — write %q", key.Value)
	default:
		key.Tag = "!!str"
		member, _ := c.member(t, key.Value, path, key.Line, key.Column)
		c.yaml(value, bare(member), joinPath(path, key.Value), seen)
	}
}
