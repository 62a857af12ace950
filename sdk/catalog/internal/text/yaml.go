package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// maxDepth bounds nesting, aliases followed; encoding/json has the same
	// bound.
	maxDepth = 10_000

	// maxAliased bounds how many values aliases may add to a file, so that a
	// short file cannot unfold into a huge one.
	maxAliased = 100_000
)

// YAML reads a text of one YAML document into the tree that the same JSON would
// give. An error is an *Error. Aliases may unfold into 100,000 values.
func YAML(b []byte) (*Value, error) {
	if !utf8.Valid(b) {
		return nil, errorAt(b, invalidUTF8(b), "invalid UTF-8")
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var document, more yaml.Node
	switch err := dec.Decode(&document); {
	case errors.Is(err, io.EOF):
		return &Value{Kind: Null}, nil
	case err != nil:
		return nil, yamlSyntax(err)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, yamlAt(&more, "a second document")
	case !errors.Is(err, io.EOF):
		return nil, yamlSyntax(err)
	}
	r := yamlReader{}
	return r.value(&document, 0)
}

// yamlSyntax keeps the parser's text, which names the line.
func yamlSyntax(err error) error {
	return &Error{Problem: strings.TrimPrefix(err.Error(), "yaml: ")}
}

// yamlReader converts one document.
type yamlReader struct {
	aliases int // how many aliases the value being read lies behind
	aliased int // how many values were read behind an alias
}

func (r *yamlReader) value(y *yaml.Node, depth int) (*Value, error) {
	if depth > maxDepth {
		return nil, yamlAt(y, "nested deeper than %d levels", maxDepth)
	}
	if r.aliases > 0 {
		if r.aliased++; r.aliased > maxAliased {
			return nil, yamlAt(y, "aliases unfold into more than %d values", maxAliased)
		}
	}
	switch y.Kind {
	case yaml.DocumentNode:
		return r.value(y.Content[0], depth)
	case yaml.AliasNode:
		r.aliases++
		n, err := r.value(y.Alias, depth+1)
		r.aliases--
		return n, err
	case yaml.SequenceNode:
		return r.sequence(y, depth)
	case yaml.MappingNode:
		return r.mapping(y, depth)
	case yaml.ScalarNode:
		return yamlScalar(y)
	}
	return nil, yamlAt(y, "an empty value where one is needed")
}

func (r *yamlReader) sequence(y *yaml.Node, depth int) (*Value, error) {
	n := &Value{Kind: Array, At: placeOf(y)}
	for _, item := range y.Content {
		value, err := r.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, value)
	}
	return n, nil
}

func (r *yamlReader) mapping(y *yaml.Node, depth int) (*Value, error) {
	n := &Value{Kind: Object, At: placeOf(y)}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		at := placeOf(key)
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, yamlAt(key, "a member name must be plain text")
		}
		if key.ShortTag() == "!!merge" {
			return nil, yamlAt(key, "merge keys (<<) are not supported")
		}
		value, err := r.value(y.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		n.Members = append(n.Members, Member{Name: key.Value, Value: value, At: at})
	}
	return n, nil
}

func placeOf(y *yaml.Node) Place { return Place{Line: y.Line, Column: y.Column} }

func yamlScalar(y *yaml.Node) (*Value, error) {
	n, err := yamlText(y)
	if n != nil {
		n.At = placeOf(y)
	}
	return n, err
}

func yamlText(y *yaml.Node) (*Value, error) {
	switch tag := y.ShortTag(); tag {
	case "!!null":
		return &Value{Kind: Null}, nil
	case "!!str", "!!timestamp":
		return &Value{Kind: String, Text: y.Value}, nil
	case "!!bool":
		var b bool
		if err := y.Decode(&b); err != nil {
			return nil, yamlAt(y, "not a boolean")
		}
		return &Value{Kind: Bool, Text: strconv.FormatBool(b)}, nil
	case "!!int", "!!float":
		var i int64
		if tag == "!!int" && y.Decode(&i) == nil {
			return &Value{Kind: Number, Text: strconv.FormatInt(i, 10)}, nil
		}
		var f float64
		if err := y.Decode(&f); err != nil {
			return nil, yamlAt(y, "not a number")
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return &Value{Kind: Number, Text: y.Value}, nil
		}
		return &Value{Kind: Number, Text: strconv.FormatFloat(f, 'g', -1, 64)}, nil
	default:
		return nil, yamlAt(y, "values of type %s are not supported", tag)
	}
}

func yamlAt(y *yaml.Node, format string, args ...any) error {
	return &Error{At: placeOf(y), Problem: fmt.Sprintf(format, args...)}
}
