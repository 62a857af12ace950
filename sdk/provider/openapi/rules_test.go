package openapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/provider"
)

// operations compares the paths with the manifest, in its order, and each with
// what every operation must have.
func (d document) operations(root map[string]any) (found []string) {
	var tags []string
	for _, tag := range d.Tags {
		tags = append(tags, tag.Name)
	}
	var listed []string
	for i := 0; i < len(d.Paths.Content); i += 2 {
		listed = append(listed, strings.TrimPrefix(d.Paths.Content[i].Value, "/v1/"))
	}
	var declared []string
	for _, op := range provider.Operations {
		declared = append(declared, op.Op)
	}

	if !slices.Equal(listed, declared) {
		found = append(found, fmt.Sprintf("paths and manifest differ:\n%v\n%v", listed, declared))
	}
	for _, op := range listed {
		path := below(root, "paths", "/v1/"+op)
		if len(path) != 1 || path["post"] == nil {
			found = append(found, op+": methods other than post")
		}
		for _, problem := range operation(root, op, below(path, "post"), tags) {
			found = append(found, op+": "+problem)
		}
	}
	return found
}

func operation(root map[string]any, op string, post map[string]any, tags []string) (found []string) {
	id := op
	if head, tail, dotted := strings.Cut(op, "."); dotted {
		id = head + strings.ToUpper(tail[:1]) + tail[1:]
	}
	if post["operationId"] != id {
		found = append(found, fmt.Sprintf("operationId is %v", post["operationId"]))
	}
	if tag, _ := post["tags"].([]any); len(tag) != 1 || !slices.Contains(tags, fmt.Sprint(tag[0])) {
		found = append(found, fmt.Sprintf("tags are %v", post["tags"]))
	}
	if summary, _ := post["summary"].(string); summary == "" {
		found = append(found, "no summary")
	}
	responses := below(post, "responses")
	if len(responses) != 2 || responses["200"] == nil || responses["default"] == nil {
		found = append(found, "the responses are not 200 and default")
	}
	if ref := below(responses, "default")["$ref"]; ref != "#/components/responses/Error" {
		found = append(found, fmt.Sprintf("default is %v", ref))
	}
	if o, ok := provider.LookupOperation(op); ok && op != "check" { // which requires one thing or another
		found = append(found, parameters(root, o, below(post, "requestBody"))...)
	}
	return found
}

// parameters compares a body with what the operation declares.
func parameters(root map[string]any, o *provider.Operation, body map[string]any) (found []string) {
	body = deref(root, body)
	wanted := o.Required()
	if body["required"] != (len(wanted) > 0) {
		found = append(found, fmt.Sprintf("requestBody.required is %v", body["required"]))
	}
	schema := deref(root, below(body, "content", "application/json", "schema"))
	var required []string
	names, _ := schema["required"].([]any)
	for _, name := range names {
		required = append(required, fmt.Sprint(name))
	}
	if !slices.Equal(required, wanted) {
		found = append(found, fmt.Sprintf("the body requires %v, the manifest %v", required, wanted))
	}
	for _, m := range provider.Members(o.Input()) {
		variants, _ := below(schema, "properties", m.Name)["oneOf"].([]any)
		nullable := slices.ContainsFunc(variants, func(v any) bool {
			variant, _ := v.(map[string]any)
			return variant["type"] == "null"
		})
		if m.Required && nullable != m.Null {
			found = append(found, fmt.Sprintf("%s may be null: %v", m.Name, nullable))
		}
	}
	return found
}

// references reports references that are not local or do not resolve, and
// components that no path reaches.
func references(root map[string]any) (found []string) {
	reached := map[string]bool{}
	var follow func(v any)
	follow = func(v any) {
		walk("", v, func(_ string, node map[string]any) {
			ref, ok := node["$ref"].(string)
			if !ok || reached[ref] {
				return
			}
			reached[ref] = true
			switch target := deref(root, node); {
			case !strings.HasPrefix(ref, "#/"):
				found = append(found, ref+" is not local")
			case len(target) == 0:
				found = append(found, ref+" does not resolve")
			default:
				follow(target)
			}
		})
	}
	follow(root["paths"])
	for kind, components := range below(root, "components") {
		if kind == "securitySchemes" {
			continue
		}
		for name := range components.(map[string]any) {
			if pointer := "#/components/" + kind + "/" + name; !reached[pointer] {
				found = append(found, pointer+" is reached from no path")
			}
		}
	}
	return found
}

// keywords reports what a schema must not say, and required members that it does
// not describe.
func keywords(root map[string]any) (found []string) {
	walk("", root, func(path string, node map[string]any) {
		add := func(problem string) { found = append(found, path+": "+problem) }
		if strings.HasSuffix(path, "/properties") {
			return // its members are names, not keywords
		}
		if node["additionalProperties"] == false {
			add("additionalProperties is false")
		}
		for _, keyword := range []string{"anyOf", "nullable"} {
			if node[keyword] != nil {
				add(keyword)
			}
		}
		if _, list := node["type"].([]any); list {
			add("type is a list")
		}
		if values, _ := node["enum"].([]any); len(values) == 1 {
			add("an enum of one value is a const")
		}
		required, _ := node["required"].([]any)
		properties, declares := node["properties"].(map[string]any)
		for _, name := range required {
			if _, ok := properties[fmt.Sprint(name)]; declares && !ok {
				add(fmt.Sprintf("requires %v and does not describe it", name))
			}
		}
	})
	return found
}

// walk visits every object below v, in a fixed order.
func walk(path string, v any, visit func(path string, node map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(path, v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walk(path+"/"+key, v[key], visit)
		}
	case []any:
		for i, item := range v {
			walk(fmt.Sprintf("%s/%d", path, i), item, visit)
		}
	}
}

// deref is what a node refers to, or the node itself.
func deref(root, node map[string]any) map[string]any {
	ref, ok := node["$ref"].(string)
	if !ok {
		return node
	}
	return below(root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
}

// below is the object below node under those names, nil when there is none.
func below(node map[string]any, names ...string) map[string]any {
	for _, name := range names {
		node, _ = node[name].(map[string]any)
	}
	return node
}
