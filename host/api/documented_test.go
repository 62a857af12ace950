package api_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/sdk/provider/openapi"
)

// documented is the transport of every test here: it holds what crosses to the
// OpenAPI document, the bodies of calls that succeed and all answers
// (spec: provider-api §11).
type documented struct {
	t testing.TB
	*http.Transport
}

func (d documented) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		if sent, err = io.ReadAll(body); err != nil {
			return nil, err
		}
	}
	resp, err := d.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	path := r.URL.EscapedPath()
	resp.Body = &readBody{ReadCloser: resp.Body, whole: func(body []byte) {
		if err := abides(path, sent, resp.StatusCode, body); err != nil {
			d.t.Errorf("%s %.500s\nanswered %d %.500s\nis not what the document says: %.2000s", path, sent, resp.StatusCode, body, err.Error())
		}
	}}
	return resp, nil
}

// readBody calls whole once the body was read to its end.
type readBody struct {
	io.ReadCloser
	read  bytes.Buffer
	whole func([]byte)
}

func (b *readBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Write(p[:n])
	if errors.Is(err, io.EOF) && b.whole != nil {
		b.whole(b.read.Bytes())
		b.whole = nil
	}
	return n, err
}

// abides compares one exchange with the document.
func abides(path string, sent []byte, status int, answered []byte) error {
	answer, err := jsonschema.UnmarshalJSON(bytes.NewReader(answered))
	if err != nil {
		return err
	}
	schemas := documentedSchemas()
	if status != http.StatusOK {
		return schemas.failure.Validate(answer)
	}
	op, err := url.PathUnescape(path[strings.LastIndex(path, "/v1/")+len("/v1/"):])
	if err != nil {
		return err
	}
	// The aliases behave as the operations that they stand for
	// (spec: provider-api §6).
	op = cmp.Or(map[string]string{"org.exportSnapshot": "exportOrgSnapshot", "org.applySnapshot": "applyOrgSnapshot"}[op], op)
	schema, ok := schemas.operations[op]
	if !ok {
		return fmt.Errorf("there is no operation %q", op)
	}
	if err := schema.answer.Validate(answer); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	if len(sent) == 0 {
		return nil
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(sent))
	if err != nil {
		return err
	}
	if op == "check" {
		if body = answerable(body.(map[string]any), answer.(map[string]any)); body == nil {
			return nil
		}
	}
	if err := schema.body.Validate(body); err != nil {
		// Null reads as absent (spec: provider-api §1), which a server need not
		// be sent.
		if schema.body.Validate(withoutNulls(body)) != nil && schema.body.Validate(withoutNullParameters(body)) != nil {
			return fmt.Errorf("the body: %w", err)
		}
	}
	return nil
}

// answerable leaves out of a batch the members that were refused on their own,
// and is nil when that is all of them.
func answerable(body, answer map[string]any) any {
	results, batch := answer["results"].([]any)
	if !batch {
		return body
	}
	var kept []any
	for i, result := range results {
		if result.(map[string]any)["error"] == nil {
			kept = append(kept, body["checks"].([]any)[i])
		}
	}
	if kept == nil {
		return nil
	}
	body = maps.Clone(body)
	body["checks"] = kept
	return body
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, member := range v {
			if member != nil {
				out[k] = withoutNulls(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutNulls(v[i])
		}
		return out
	}
	return v
}

// withoutNullParameters keeps the nulls further down, which are values.
func withoutNullParameters(v any) any {
	members, _ := v.(map[string]any)
	out := map[string]any{}
	for k, member := range members {
		if member != nil {
			out[k] = member
		}
	}
	return out
}

type apiSchemas struct {
	failure    *jsonschema.Schema
	operations map[string]operationSchemas
}

type operationSchemas struct{ body, answer *jsonschema.Schema }

// documentedSchemas reads the document once.
var documentedSchemas = sync.OnceValue(func() apiSchemas {
	type reference struct {
		Ref string `yaml:"$ref"`
	}
	var doc struct {
		Paths map[string]struct {
			Post struct {
				RequestBody reference            `yaml:"requestBody"`
				Responses   map[string]reference `yaml:"responses"`
			}
		}
	}
	var root any
	if err := errors.Join(yaml.Unmarshal([]byte(openapi.Document), &doc), yaml.Unmarshal([]byte(openapi.Document), &root)); err != nil {
		panic(err)
	}
	compiler := jsonschema.NewCompiler()
	const at = "mem:///authz-provider.json"
	if err := compiler.AddResource(at, root); err != nil {
		panic(err)
	}
	body := func(shared reference, own string) *jsonschema.Schema {
		if shared.Ref != "" {
			own = shared.Ref
		}
		return compiler.MustCompile(at + own + "/content/application~1json/schema")
	}
	schemas := apiSchemas{operations: map[string]operationSchemas{},
		failure: body(reference{"#/components/responses/Error"}, "")}
	for path, item := range doc.Paths {
		own := "#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/post/"
		schemas.operations[strings.TrimPrefix(path, "/v1/")] = operationSchemas{
			body:   body(item.Post.RequestBody, own+"requestBody"),
			answer: body(item.Post.Responses["200"], own+"responses/200"),
		}
	}
	return schemas
})

func TestWhatTheDocumentDoesNotDescribeIsNoticed(t *testing.T) {
	const grant = `{"id":"g","subject":"user:u","pattern":"*","scope":"*",` + admin + `,"createdAt":1}`
	const input = `{"input":{"subject":"user:u","pattern":"*",` + admin + `}}`
	for name, c := range map[string]struct {
		op, sent string
		status   int
		answered string
		fine     bool
	}{
		"as described":              {"createGrant", input, 200, `{"grant":` + grant + `}`, true},
		"members of a later time":   {"createGrant", `{"x":1,` + input[1:], 200, `{"grant":` + grant + `,"x":1}`, true},
		"null for absent":           {"createGrant", `{"input":{"roleId":null,` + input[len(`{"input":{`):], 200, `{"grant":` + grant + `}`, true},
		"no body":                   {"ping", ``, 200, `{"api":1,"application":"a","orgRoot":true,"hasEpoch":true,"auditOptIn":false}`, true},
		"a refused member of many":  {"check", `{"checks":[{},{"principal":{"userId":"u"},"key":"a"}]}`, 200, `{"results":[{"error":{"name":"E","message":""}},{"allowed":true}]}`, true},
		"a body that is refused":    {"createGrant", `{"input":5}`, 422, `{"error":{"name":"E","message":"m","code":"c"}}`, true},
		"an answer without its row": {"createGrant", input, 200, `{}`, false},
		"a row of neither":          {"createGrant", input, 200, `{"grant":` + strings.Replace(grant, `"pattern":"*",`, "", 1) + `}`, false},
		"a row of both":             {"createGrant", input, 200, `{"grant":{"roleId":"r",` + grant[1:] + `}`, false},
		"a body of another type":    {"createGrant", `{"input":5}`, 200, `{"grant":` + grant + `}`, false},
		"a body without provenance": {"createGrant", `{"input":{"subject":"user:u","pattern":"*"}}`, 200, `{"grant":` + grant + `}`, false},
		"null where it is refused":  {"setReportingEdge", `{"userId":null,"managerUserId":null,` + admin + `}`, 200, `{}`, false},
		"an error without its name": {"createGrant", input, 422, `{"error":{"message":"m"}}`, false},
		"no such operation":         {"createGrunt", `{}`, 200, `{}`, false},
		"no JSON":                   {"ping", ``, 200, `{"api":1`, false},
	} {
		err := abides("/apps/docs/v1/"+c.op, []byte(c.sent), c.status, []byte(c.answered))
		if (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
		if !json.Valid([]byte(c.answered)) && name != "no JSON" {
			t.Errorf("%s: the case itself is no JSON", name)
		}
	}
}
