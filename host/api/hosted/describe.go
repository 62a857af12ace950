package hosted

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/authzhost/authz/host/service"
)

// Describe makes the OpenAPI 3.1 document of the endpoints in the table.
func Describe() ([]byte, error) {
	s := newSchemas()
	paths := map[string]map[string]any{}
	for _, e := range endpoints().list {
		if paths[e.Path] == nil {
			paths[e.Path] = map[string]any{}
		}
		paths[e.Path][strings.ToLower(e.Method)] = e.operation(s)
	}
	components := map[string]any{"securitySchemes": securitySchemes, "schemas": s.components, "examples": s.examples}
	s.components["Error"] = errorSchema
	return stable(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "authz hosted administrative API", "version": "1.0.0",
			"description": "Orgs, seats, keys, applications, the registry, and access as the org root keeps it. The service is never on the path of a check."},
		"servers":    []any{map[string]any{"url": base}},
		"paths":      paths,
		"components": components,
	})
}

var securitySchemes = map[string]any{
	"session": map[string]any{"type": "apiKey", "in": "cookie", "name": "__Host-authz_session",
		"description": "With it, requests other than GET and HEAD carry X-Authz-Csrf and an Origin of this service."},
	"adminKey":     map[string]any{"type": "http", "scheme": "bearer", "bearerFormat": "authz_adm_…"},
	"principalKey": map[string]any{"type": "http", "scheme": "bearer", "bearerFormat": "authz_prn_…"},
	"publisherKey": map[string]any{"type": "http", "scheme": "bearer", "bearerFormat": "authz_pub_…"},
}

var errorSchema = map[string]any{
	"type": "object", "required": []string{"error"},
	"properties": map[string]any{"error": map[string]any{
		"type": "object", "required": []string{"name", "message", "requestId"}, "additionalProperties": true,
		"properties": map[string]any{
			"name": map[string]any{"type": "string"}, "code": map[string]any{"type": "string"},
			"message": map[string]any{"type": "string"}, "requestId": map[string]any{"type": "string"},
		},
	}},
}

func (e *endpoint) operation(s *schemas) map[string]any {
	op := map[string]any{
		"operationId": e.operationID(), "tags": []string{e.tag()}, "summary": e.Summary,
		"description": e.description(), "parameters": e.describeParameters(s), "responses": e.responses(s), "security": e.security(),
	}
	if e.body {
		schema := s.properties(e.input, true)
		if e.changes() {
			schema["minProperties"] = 1
		}
		op["requestBody"] = map[string]any{"required": e.bodyNeeded || e.changes(), "content": map[string]any{"application/json": map[string]any{
			"schema": schema, "example": example(e.input, "", "", 0)}}}
	}
	return op
}

// operationID is the method and the path's words: getOrgsOrgSeats.
func (e *endpoint) operationID() string {
	id := strings.ToLower(e.Method)
	for _, word := range strings.FieldsFunc(e.Path, func(r rune) bool { return strings.ContainsRune("/{}-._", r) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func (e *endpoint) tag() string {
	words := strings.Split(strings.TrimPrefix(e.Path, "/"), "/")
	if words[0] == "orgs" && len(words) > 2 {
		return words[2]
	}
	return words[0]
}

func (e *endpoint) description() string {
	text := "Gate: " + e.gateText() + "." + proofTexts[e.Proof]
	if e.browser {
		text += " Where the host has a dashboard, a failure sends the browser to its sign-in: 303 with problem and request in the query, unless the request accepts application/json."
	}
	if len(e.Audit) > 0 {
		text += " Audited: " + strings.Join(e.Audit, ", ") + "."
	}
	if len(e.Meter) > 0 {
		text += " Metered: " + strings.Join(e.Meter, ", ") + "."
	}
	return text
}

var proofTexts = map[proofRule]string{
	proofAlways:  " A session " + recent + ".",
	proofInGate:  " A session " + recent + ".",
	proofOfOwner: " Where an owner's seat is made or ended, a session " + recent + ".",
}

var recent = fmt.Sprintf("needs a sign-in of the last %d minutes", int(service.ProofLife.Minutes()))

func (e *endpoint) gateText() string {
	switch {
	case e.GateText != "":
		return e.GateText
	case e.Gate.Kind == service.GateCloud && e.Gate.AtApp:
		return e.Gate.Key + "@app"
	case e.Gate.Kind == service.GateCloud:
		return e.Gate.Key + "@*"
	case e.Gate.Kind == service.GateOrg:
		return e.Gate.Key
	}
	return map[service.GateKind]string{service.GatePublic: "Public", service.GateSession: "Session", service.GateOperator: "Operator", service.GateSeat: "Seat",
		service.GateOwner: "Owner", service.GateMe: "Seat or principal key", service.GatePublisher: "publisher key",
		service.GatePrincipal: "principal key"}[e.Gate.Kind]
}

func (e *endpoint) security() []any {
	schemes := []struct {
		kind service.CallerKind
		name string
	}{{service.CallerSession, "session"}, {service.CallerAdmin, "adminKey"}, {service.CallerPrincipal, "principalKey"}, {service.CallerPublisher, "publisherKey"}}
	out := []any{}
	for _, s := range schemes {
		if e.Gate.Kind != service.GatePublic && e.Gate.Admits(s.kind) {
			out = append(out, map[string]any{s.name: []string{}})
		}
	}
	return out
}

func (e *endpoint) describeParameters(s *schemas) []any {
	out := []any{}
	add := func(in, name string, required bool, schema map[string]any) {
		out = append(out, map[string]any{"in": in, "name": name, "required": required, "schema": schema})
	}
	for _, f := range tagged(e.input, "path") {
		add("path", f.name, true, s.of(f.typ, f.tag))
	}
	for _, f := range tagged(e.input, "query") {
		t := f.typ
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if f.tag.Get("flag") == "01" {
			add("query", f.name, !f.optional, map[string]any{"type": "string", "enum": []string{"0", "1"}})
			continue
		}
		add("query", f.name, !f.optional, s.of(t, f.tag))
	}
	if e.keeps() {
		add("header", "Idempotency-Key", false, map[string]any{"type": "string", "minLength": 1, "maxLength": maxIdempotencyKey})
	}
	if e.Conditional {
		add("header", "If-Match", false, map[string]any{"type": "string"})
	}
	return out
}

func (e *endpoint) responses(s *schemas) map[string]any {
	out := map[string]any{}
	for _, status := range append([]int{e.Status}, e.Also...) {
		out[strconv.Itoa(status)] = e.success(s, status)
	}
	byStatus := map[int][]string{}
	for _, code := range e.errors() {
		status := classes[code].status
		byStatus[status] = append(byStatus[status], code)
	}
	for status, codes := range byStatus {
		examples := map[string]any{}
		for _, code := range codes {
			body := map[string]any{"name": classes[code].name, "message": "…", "requestId": "4f0c5d1e-7f0a-4c55-9a51-1d7f0c2b6f10"}
			if classes[code].name != code {
				body["code"] = code
			}
			s.examples[code] = map[string]any{"value": map[string]any{"error": body}}
			examples[code] = map[string]any{"$ref": "#/components/examples/" + code}
		}
		out[strconv.Itoa(status)] = map[string]any{
			"description": fmt.Sprintf("%s: %s", http.StatusText(status), strings.Join(codes, ", ")),
			"content": map[string]any{"application/json": map[string]any{
				"schema": map[string]any{"$ref": "#/components/schemas/Error"}, "examples": examples}},
		}
	}
	return out
}

func (e *endpoint) success(s *schemas, status int) map[string]any {
	r := map[string]any{"description": http.StatusText(status)}
	if status == http.StatusNoContent || status == http.StatusSeeOther || status == http.StatusNotModified {
		return r
	}
	if e.Produces != "" || e.output.Kind() == reflect.Interface {
		r["content"] = map[string]any{e.accepts(): map[string]any{"schema": map[string]any{}}}
		return r
	}
	output := e.output
	if output.Kind() == reflect.Pointer { // beside no error it is there
		output = output.Elem()
	}
	r["content"] = map[string]any{"application/json": map[string]any{
		"schema": s.of(output, ""), "example": example(output, "", "", 0)}}
	return r
}
