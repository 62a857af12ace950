package openapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/internal/openapi/describe"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/provider/openapi"
)

func TestDocument(t *testing.T) {
	for _, problem := range problems(t, openapi.Document) {
		t.Error(problem)
	}
}

func TestTheDocumentIsMadeOfTheDeclarations(t *testing.T) {
	made, err := describe.Document()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(made), openapi.Document); diff != "" {
		t.Errorf("run go generate ./sdk/provider/openapi:\n%s", diff)
	}
}

// The components that have words of their own name the members of the types that
// they stand for.
func TestComponentsHaveTheMembersOfTheirTypes(t *testing.T) {
	var root map[string]any
	if err := yaml.Unmarshal([]byte(openapi.Document), &root); err != nil {
		t.Fatal(err)
	}
	held := 0
	for typ, name := range describe.Schemas {
		component := map[string]any{}
		gather(root, below(root, "components", "schemas", name), component)
		if len(component) == 0 {
			continue // one of several forms
		}
		var want []string
		for _, m := range provider.Members(typ) {
			if m.Clears == "" {
				want = append(want, m.Name)
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(component)); !slices.Equal(got, want) {
			t.Errorf("%s has %v, %v has %v", name, got, typ, want)
		}
		held++
	}
	if held < 25 {
		t.Errorf("only %d components were compared", held)
	}
}

// gather puts the properties of a component together, those of allOf included.
func gather(root, schema, into map[string]any) {
	maps.Copy(into, below(schema, "properties"))
	parts, _ := schema["allOf"].([]any)
	for _, part := range parts {
		gather(root, deref(root, part.(map[string]any)), into)
	}
}

// Each rule fails over a document that breaks it.
func TestABrokenDocumentIsNoticed(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"version of OpenAPI":    {"openapi: 3.1.0", "openapi: 3.0.3", "openapi is"},
		"major of the version":  {"version: 1.0.0", "version: 2.0.0", "info is"},
		"no security":           {"- bearerAuth: []", "- {}", "security"},
		"no such operation":     {"/v1/getReportingEdges:", "/v1/getReportingEdge:", "getReportingEdge:"},
		"two methods":           {"/v1/ping:\n    post:", "/v1/ping:\n    get: {}\n    post:", "methods"},
		"operation id":          {"operationId: epochHead", "operationId: epoch.head", "operationId"},
		"operation id twice":    {"operationId: listRoles", "operationId: listGroups", "operationId"},
		"undeclared tag":        {"tags: [evaluation]", "tags: [checks]", "tags"},
		"no summary":            {"      summary: Define a role\n", "", "summary"},
		"no 200":                {`"200": {$ref: "#/components/responses/Empty"}`, `"201": {$ref: "#/components/responses/Empty"}`, "200 and default"},
		"another error":         {`default: {$ref: "#/components/responses/Error"}`, `default: {$ref: "#/components/responses/Empty"}`, "default is"},
		"a parameter not asked": {"required: [grantId, provenance]", "required: [grantId]", "requires [grantId]"},
		"null where it is none": {"description: Null clears the edge.\n                  oneOf:", "anyOf:", "anyOf"},
		"a body not asked":      {"requestBody:\n        required: true", "requestBody:\n        required: false", "requestBody.required"},
		"remote reference":      {`"#/components/schemas/PingResult"`, `"https://example.com/x.yaml"`, "local"},
		"dangling reference":    {`"#/components/schemas/PingResult"`, `"#/components/schemas/PingResults"`, "resolve"},
		"orphan schema":         {"    EmptyObject:\n", "    Orphan: {type: object}\n    EmptyObject:\n", "Orphan"},
		"closed object":         {"additionalProperties: {type: string}", "additionalProperties: false", "additionalProperties"},
		"nullable":              {"createdAt: {$ref", "x: {type: string, nullable: true}\n        createdAt: {$ref", "nullable"},
		"types in a list":       {"userIds:\n", "x: {type: [string, \"null\"]}\n                  userIds:\n", "type"},
		"enum of one":           {"enum: [owned, imported]", "enum: [owned]", "const"},
		"required, undeclared":  {"required: [allowed]", "required: [alowed]", "alowed"},
		"an ill-formed schema":  {"items: {$ref: \"#/components/schemas/CheckAnswer\"}", "items: 5", "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := strings.Replace(openapi.Document, c.old, c.new, 1)
			if broken == openapi.Document {
				t.Fatalf("the document does not hold %q", c.old)
			}
			found := problems(t, broken)
			if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("found %q, nothing of %q", found, c.want)
			}
		})
	}
}

// problems is everything in which a document breaks its rules
// (spec: provider-api §11).
func problems(t *testing.T, text string) []string {
	t.Helper()
	var doc document
	var root map[string]any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	found := doc.frame()
	found = append(found, doc.operations(root)...)
	found = append(found, references(root)...)
	found = append(found, keywords(root)...)
	return append(found, compiled(root)...)
}

// document is the part that every OpenAPI document has; Paths keeps its order.
type document struct {
	OpenAPI string
	Info    struct{ Title, Version string }
	Servers []struct {
		URL       string
		Variables map[string]struct{ Default string }
	}
	Security []map[string][]string
	Tags     []struct{ Name string }
	Paths    yaml.Node

	Components struct {
		SecuritySchemes map[string]struct{ Type, Scheme string } `yaml:"securitySchemes"`
	}
}

func (d document) frame() (found []string) {
	if d.OpenAPI != "3.1.0" {
		found = append(found, "openapi is "+d.OpenAPI)
	}
	if d.Info.Title != "Authz Provider API" || !strings.HasPrefix(d.Info.Version, fmt.Sprintf("%d.", provider.APIVersion)) {
		found = append(found, fmt.Sprintf("info is %v", d.Info))
	}
	if len(d.Servers) != 1 || d.Servers[0].URL != "{base}" || d.Servers[0].Variables["base"].Default == "" {
		found = append(found, fmt.Sprintf("servers are %v", d.Servers))
	}
	scheme := d.Components.SecuritySchemes["bearerAuth"]
	if len(d.Security) != 1 || d.Security[0]["bearerAuth"] == nil || scheme.Type != "http" || scheme.Scheme != "bearer" {
		found = append(found, fmt.Sprintf("security is %v, %v", d.Security, scheme))
	}
	return found
}

// compiled reports schemas that are none by JSON Schema 2020-12, the dialect of
// OpenAPI 3.1.
func compiled(root map[string]any) (found []string) {
	const at = "mem:///authz-provider.json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(at, root); err != nil {
		return []string{"schema: " + err.Error()}
	}
	for name := range below(root, "components", "schemas") {
		if _, err := compiler.Compile(at + "#/components/schemas/" + name); err != nil {
			found = append(found, "schema "+name+": "+err.Error())
		}
	}
	return found
}
