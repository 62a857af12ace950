// Package describe makes the OpenAPI document of the provider API: its paths of the
// declared operations, the rest of frame.yaml, which has the words of the field.
package describe

import (
	"bytes"
	_ "embed"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

//go:embed frame.yaml
var frame []byte

// Schemas are the components that stand for types.
var Schemas = map[reflect.Type]string{
	reflect.TypeFor[authz.Provenance]():               "Provenance",
	reflect.TypeFor[authz.Principal]():                "PrincipalRef",
	reflect.TypeFor[authz.Grant]():                    "GrantRow",
	reflect.TypeFor[authz.Revoke]():                   "RevokeRow",
	reflect.TypeFor[authz.Role]():                     "RoleRecord",
	reflect.TypeFor[authz.Group]():                    "UserGroup",
	reflect.TypeFor[authz.Request]():                  "AccessRequest",
	reflect.TypeFor[authz.AuditEntry]():               "AuditEvent",
	reflect.TypeFor[authz.AuditCursor]():              "AuditCursor",
	reflect.TypeFor[authz.SubjectAccess]():            "SubjectAccessData",
	reflect.TypeFor[metrics.Batch]():                  "MetricsBatch",
	reflect.TypeFor[provider.Ping]():                  "PingResult",
	reflect.TypeFor[provider.Capabilities]():          "ProviderCapabilities",
	reflect.TypeFor[provider.EventLogHead]():          "EpochHead",
	reflect.TypeFor[provider.EventLogPage]():          "EpochEventsPage",
	reflect.TypeFor[provider.Check]():                 "CheckInput",
	reflect.TypeFor[provider.CheckAnswer]():           "CheckResult",
	reflect.TypeFor[provider.GrantInput]():            "GrantInputWithoutProvenance",
	reflect.TypeFor[provider.GrantQuery]():            "GrantQuery",
	reflect.TypeFor[provider.GrantsQuery]():           "GrantSearch",
	reflect.TypeFor[provider.RoleInput]():             "RoleInput",
	reflect.TypeFor[provider.RoleUpdate]():            "RoleUpdate",
	reflect.TypeFor[provider.GroupInput]():            "GroupInput",
	reflect.TypeFor[provider.RequestInput]():          "RequestInput",
	reflect.TypeFor[provider.RequestQuery]():          "RequestFilter",
	reflect.TypeFor[provider.DecisionInput]():         "DecisionInput",
	reflect.TypeFor[provider.AuditQuery]():            "AuditQuery",
	reflect.TypeFor[provider.ScopeParents]():          "ScopeParents",
	reflect.TypeFor[provider.UsageQuery]():            "UsageQuery",
	reflect.TypeFor[provider.RowUsage]():              "RowUsage",
	reflect.TypeFor[provider.PermissionUsage]():       "PermissionUsage",
	reflect.TypeFor[provider.PublishedCatalog]():      "PublishedCatalog",
	reflect.TypeFor[provider.PublishedImports]():      "PublishedImports",
	reflect.TypeFor[provider.OrgSnapshot]():           "OrgSnapshot",
	reflect.TypeFor[provider.ApplyOrgSnapshotInput](): "ApplyOrgSnapshotInput",
}

func init() {
	for op, name := range map[string]string{"createGrant": "GrantInput", "createRevoke": "RevokeInput"} {
		declared, _ := provider.LookupOperation(op)
		Schemas[provider.Members(declared.Input())[0].Type] = name
	}
}

// words are the components that stand for a member of that name, whatever its type.
var words = map[string]string{"subject": "SubjectId", "scope": "ScopeId", "pattern": "PermissionPattern", "seq": "Sequence",
	"identity": "EventIdentity", "document": "CatalogDocument", "manifest": "ImportManifest"}

// Document is the document as it is committed.
func Document() ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(frame, &root); err != nil {
		return nil, err
	}
	paths := mapping()
	for _, op := range provider.Operations {
		put(paths, "/v1/"+op.Op, mapping("post", operation(op)))
	}
	top := root.Content[0]
	for i := 0; i < len(top.Content); i += 2 {
		if top.Content[i].Value == "components" {
			top.Content = append(top.Content[:i:i], append([]*yaml.Node{text("paths"), paths}, top.Content[i:]...)...)
			break
		}
	}
	var out bytes.Buffer
	out.WriteString("# Made by internal/openapi/generate; do not edit.\n")
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&root); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func operation(op *provider.Operation) *yaml.Node {
	id := op.Op
	if head, tail, dotted := strings.Cut(id, "."); dotted {
		id = head + strings.ToUpper(tail[:1]) + tail[1:]
	}
	node := mapping("operationId", text(id), "tags", inline(text(op.Tag)), "summary", text(op.Summary))
	if op.Notes != "" {
		put(node, "description", text(op.Notes))
	}
	put(node, "requestBody", body(op))
	put(node, "responses", mapping("200", answer(op), "default", ref("responses", "Error")))
	return node
}

func body(op *provider.Operation) *yaml.Node {
	if len(provider.Members(op.Input())) == 0 {
		return ref("requestBodies", "None")
	}
	return mapping("required", yes(len(op.Required()) > 0), "content", content(schema(op.Input(), false)))
}

func answer(op *provider.Operation) *yaml.Node {
	members := provider.Members(op.Output())
	if len(members) == 0 && Schemas[op.Output()] == "" {
		return ref("responses", "Empty")
	}
	if op.Answer == "" {
		panic(op.Op + " says nothing of its answer")
	}
	node := mapping("description", text(op.Answer))
	if op.Kind == provider.Write {
		put(node, "headers", mapping("Authz-Seq", ref("headers", "Authz-Seq")))
	}
	of := schema(op.Output(), true)
	if op.List != "" {
		properties := mapping(op.List, mapping("type", text("array"), "items", of))
		if after, paged := pageKey(op); paged {
			put(properties, "next", after)
		}
		of = mapping("type", text("object"), "required", inline(text(op.List)), "properties", properties)
	}
	put(node, "content", content(of))
	return node
}

// pageKey is what a list of pages tells as next.
func pageKey(op *provider.Operation) (*yaml.Node, bool) {
	for _, m := range provider.Members(op.Input()) {
		if m.Rule == provider.RulePage {
			for _, after := range provider.Members(op.Input()) {
				if after.Name == "after" && after.Type.Kind() == reflect.Pointer {
					next := ref("schemas", Schemas[after.Type.Elem()])
					describe(next, "What to pass as `after` for the next page; absent when there are no more.")
					return next, true
				}
			}
			return ref("schemas", "NextKey"), true
		}
	}
	return nil, false
}

func content(schema *yaml.Node) *yaml.Node {
	return mapping("application/json", mapping("schema", schema))
}

// schema is the schema of a type: a component, or its members.
func schema(t reflect.Type, answered bool) *yaml.Node {
	if name := Schemas[t]; name != "" {
		return ref("schemas", name)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schema(t.Elem(), answered)
	case reflect.String:
		return mapping("type", text("string"))
	case reflect.Bool:
		return mapping("type", text("boolean"))
	case reflect.Int, reflect.Int64:
		return mapping("type", text("integer"))
	case reflect.Slice:
		return mapping("type", text("array"), "items", schema(t.Elem(), answered))
	case reflect.Map:
		return mapping("type", text("object"), "additionalProperties", schema(t.Elem(), answered))
	case reflect.Struct:
		return object(t, answered)
	}
	panic("describe: no schema for a " + t.String())
}

// object tells the members of an input, of which those are required that the reader
// insists on, or of an answer, of which those are that are always there.
func object(t reflect.Type, answered bool) *yaml.Node {
	node, properties := mapping("type", text("object")), mapping()
	var required []*yaml.Node
	for _, m := range provider.Members(t) {
		put(properties, m.Name, member(m, answered))
		if m.Required || answered && !m.Optional {
			required = append(required, text(m.Name))
		}
	}
	if len(required) > 0 {
		put(node, "required", inline(required...))
	}
	put(node, "properties", properties)
	return node
}

func member(m provider.Member, answered bool) *yaml.Node {
	of := schemaOf(m, answered)
	if m.Null || answered && m.Type.Kind() == reflect.Pointer {
		of = mapping("oneOf", list(of, mapping("type", quoted("null"))))
	}
	if m.Doc != "" {
		describe(of, m.Doc)
	}
	return of
}

func describe(schema *yaml.Node, words string) {
	schema.Content = append([]*yaml.Node{text("description"), text(words)}, schema.Content...)
	schema.Style = 0
}

func schemaOf(m provider.Member, answered bool) *yaml.Node {
	if name := words[m.Name]; name != "" {
		return ref("schemas", name)
	}
	switch {
	case m.Rule == provider.RulePage:
		return ref("schemas", "PageLimit")
	case m.Name == "ancestors":
		return mapping("type", text("array"), "items", ref("schemas", "ScopeId"))
	case m.Name == "applied":
		return mapping("const", yes(true))
	}
	of := schema(m.Type, answered)
	switch {
	case m.Rule == provider.RuleNonEmpty, !answered && m.Required && strings.HasSuffix(strings.ToLower(m.Name), "userid"):
		put(of, "minLength", number(1))
	case m.Max != "":
		put(of, "minItems", scalar("!!int", m.Min))
		put(of, "maxItems", scalar("!!int", m.Max))
	case m.Name == "version":
		put(of, "minimum", number(1))
	case m.Type.Kind() == reflect.Int || m.Name == "count":
		put(of, "minimum", number(0))
	}
	return of
}

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

func quoted(s string) *yaml.Node {
	n := text(s)
	n.Style = yaml.DoubleQuotedStyle
	return n
}

func yes(b bool) *yaml.Node {
	return scalar("!!bool", fmt.Sprint(b))
}

func number(n int) *yaml.Node { return scalar("!!int", fmt.Sprint(n)) }

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func ref(kind, name string) *yaml.Node {
	n := mapping("$ref", quoted("#/components/"+kind+"/"+name))
	n.Style = yaml.FlowStyle
	return n
}

func list(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
}

func inline(items ...*yaml.Node) *yaml.Node {
	n := list(items...)
	n.Style = yaml.FlowStyle
	return n
}

// mapping takes names and nodes by turns.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		put(n, pairs[i].(string), pairs[i+1].(*yaml.Node))
	}
	return n
}

func put(to *yaml.Node, name string, value *yaml.Node) {
	key := text(name)
	if name == "200" {
		key = quoted(name)
	}
	to.Content = append(to.Content, key, value)
}
