package hosted

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// schemas gathers the JSON Schemas of types; structs with a name are components.
type schemas struct {
	components map[string]map[string]any
	examples   map[string]any // of error codes
	types      map[string]reflect.Type
}

func newSchemas() *schemas {
	return &schemas{components: map[string]map[string]any{}, examples: map[string]any{}, types: map[string]reflect.Type{}}
}

var expiryType = reflect.TypeFor[authz.Expiry]()

// of is the schema of a value of the type as the tag narrows it.
func (s *schemas) of(t reflect.Type, tag reflect.StructTag) map[string]any {
	switch {
	case t == rawType || t.Kind() == reflect.Interface:
		return map[string]any{}
	case t == expiryType:
		return map[string]any{"type": []string{"integer", "null"}, "format": "int64"}
	}
	if inner, ok := nullableOf(t); ok {
		return orNull(s.of(inner, tag))
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(s.of(t.Elem(), tag))
	case reflect.String:
		return text(tag)
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint64:
		out := map[string]any{"type": "integer", "format": "int64"}
		bound(out, tag, "minimum", "maximum")
		return out
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string"}
		}
		out := map[string]any{"type": "array", "items": s.of(t.Elem(), itemTag(tag))}
		bound(out, tag, "minItems", "maxItems")
		return out
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem(), "")}
	case reflect.Struct:
		return s.object(t)
	}
	return map[string]any{}
}

// itemTag is what the tag of a list says of its items: the rest is about the list.
func itemTag(tag reflect.StructTag) reflect.StructTag {
	enum := tag.Get("enum")
	if enum == "" {
		return ""
	}
	return reflect.StructTag(`enum:"` + enum + `"`)
}

func text(tag reflect.StructTag) map[string]any {
	out := map[string]any{"type": "string"}
	if enum := tag.Get("enum"); enum != "" {
		out["enum"] = strings.Split(enum, ",")
	}
	if p := tag.Get("pattern"); p != "" {
		out["pattern"] = p
	}
	bound(out, tag, "minLength", "maxLength")
	return out
}

func bound(out map[string]any, tag reflect.StructTag, least, most string) {
	if n, err := strconv.Atoi(tag.Get("min")); err == nil {
		out[least] = n
	}
	if n, err := strconv.Atoi(tag.Get("max")); err == nil {
		out[most] = n
	}
}

func nullableOf(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.Name(), "Nullable[") {
		return nil, false
	}
	return t.Field(1).Type.Elem(), true
}

func orNull(schema map[string]any) map[string]any {
	if kind, ok := schema["type"].(string); ok && schema["enum"] == nil {
		schema["type"] = []string{kind, "null"}
		return schema
	}
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

func (s *schemas) object(t reflect.Type) map[string]any {
	name := componentName(t)
	if name == "" {
		return s.properties(t, false)
	}
	for n := 2; s.types[name] != nil && s.types[name] != t; n++ {
		name = componentName(t) + strconv.Itoa(n)
	}
	if s.types[name] == nil {
		s.types[name] = t
		s.components[name] = nil // a type that holds itself ends here
		s.components[name] = s.properties(t, false)
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

func componentName(t reflect.Type) string {
	if t.Name() == "" || strings.Contains(t.Name(), "[") {
		return ""
	}
	return strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
}

// properties is the schema of the struct's members; one that is read is closed,
// one that is answered may gain members.
func (s *schemas) properties(t reflect.Type, closed bool) map[string]any {
	members, required := map[string]any{}, []string{}
	for _, f := range bodyFields(t) {
		members[f.name] = s.of(f.typ, f.tag)
		if f.tag.Get("nullable") == "true" { // of lists and maps, which have no pointer
			members[f.name] = orNull(members[f.name].(map[string]any))
		}
		if !f.optional {
			required = append(required, f.name)
		}
	}
	out := map[string]any{"type": "object", "properties": members}
	if len(required) > 0 {
		out["required"] = required
	}
	if closed {
		out["additionalProperties"] = false
	}
	return out
}

// samples are the values of examples, by the name of the member.
var samples = map[string]any{
	"org": "acme", "userId": "u_42", "ownerUserId": "u_42", "serviceId": "ci", "namespace": "docs", "application": "docs",
	"primaryApplication": "docs", "id": "docs-1", "roleId": "editor", "subject": "user:u_42", "pattern": "docs.page.*", "scope": "*",
	"key": "authz_internal.access.read", "name": "Docs", "email": "ada@example.com", "displayName": "Ada", "kind": "admin",
	"state": "active", "mode": "linked", "etag": `"7"`, "createdAt": 1767225600000, "expiresAt": 1767312000000, "version": 7,
	"relayUrl": "https://docs.example.com/authz", "limit": 100, "csrfToken": "qOdX0f…", "secret": "authz_adm_…", "providerSecret": "authz_prv_…",
	"nextCursor": nil, "actor": "u_42", "action": "seat.invite", "target": "user:u_7", "at": 1767225600000, "decision": "approved",
	"managerUserId": "u_7", "createdBy": "u_42", "dimension": "admin_seats", "status": "healthy", "publishedAt": 1767225600000,
	"justification": "I edit the handbook", "note": "for the quarter", "authMethod": "oidc", "clientAddress": "203.0.113.5",
	"userAgent": "Mozilla/5.0", "allowed": true, "document": map[string]any{"formatVersion": 1, "namespace": "docs", "namespaces": []any{"docs"}},
}

// example builds a value of the type as it stands on the wire.
func example(t reflect.Type, name string, tag reflect.StructTag, depth int) any {
	if value, known := samples[name]; known && fits(value, t, tag) {
		return value
	}
	if enum := tag.Get("enum"); enum != "" && t.Kind() != reflect.Slice {
		first, _, _ := strings.Cut(enum, ",")
		return first
	}
	if inner, ok := nullableOf(t); ok {
		return example(inner, name, tag, depth)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return example(t.Elem(), name, tag, depth)
	case reflect.String:
		return strings.ToLower(name) + "-1"
	case reflect.Bool:
		return true
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint64, reflect.Float64:
		least, _ := bounds(tag, 1, 0)
		return least
	case reflect.Slice:
		if t == rawType {
			return map[string]any{}
		}
		if depth > 4 {
			return []any{}
		}
		return []any{example(t.Elem(), strings.TrimSuffix(name, "s"), itemTag(tag), depth+1)}
	case reflect.Struct:
		if t == expiryType {
			return samples["expiresAt"]
		}
		out := map[string]any{}
		for _, f := range bodyFields(t) {
			if depth > 4 && f.optional {
				continue
			}
			out[f.name] = example(f.typ, f.name, f.tag, depth+1)
		}
		return out
	}
	return map[string]any{}
}

// fits tells whether the sample is one of the type.
func fits(value any, t reflect.Type, tag reflect.StructTag) bool {
	if inner, ok := nullableOf(t); ok {
		return fits(value, inner, tag)
	}
	if t.Kind() == reflect.Pointer {
		return value == nil || fits(value, t.Elem(), tag)
	}
	switch v := value.(type) {
	case string:
		return t.Kind() == reflect.String && checkText(v, tag) == ""
	case int:
		return t.Kind() == reflect.Int64 || t.Kind() == reflect.Int || t == expiryType
	case bool:
		return t.Kind() == reflect.Bool
	case map[string]any:
		return t == rawType
	}
	return false
}

// stable is JSON that changes only when its meaning does.
func stable(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", " ")
	return append(b, '\n'), err
}
