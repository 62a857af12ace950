package hosted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/authzhost/authz/host/api/hosted/openapi"
	"github.com/authzhost/authz/host/internal/request"
)

// anywhere are the codes that come before an endpoint is known.
var anywhere = []string{"route_not_found", "method_not_allowed"}

// abides holds an exchange to the OpenAPI document: the status and the error's code
// are among those of the operation, the bodies fit their schemas.
func abides(r *http.Request, sent []byte, status int, header http.Header, answered []byte) error {
	d := described()
	if status >= 400 {
		if err := d.validate("#/components/schemas/Error", answered); err != nil {
			return err
		}
	}
	var failure struct {
		Error struct{ Name, Code string }
	}
	_ = json.Unmarshal(answered, &failure) // a success is none
	code := failure.Error.Code
	if code == "" {
		code = failure.Error.Name
	}
	e, _, _, problem := d.table.routes.find(r.Method, request.Path(r))
	if problem != nil || slices.Contains(anywhere, code) || status == http.StatusNotModified {
		return nil
	}
	method := strings.ToLower(e.Method)
	at := "#/paths/" + strings.ReplaceAll(e.Path, "/", "~1") + "/" + method
	answer, told := d.doc.Paths[e.Path][method].Responses[strconv.Itoa(status)]
	if !told {
		return fmt.Errorf("no answer %d is described", status)
	}
	if status >= 400 {
		if _, told := answer.Content["application/json"].Examples[code]; !told {
			return fmt.Errorf("no error %s is described with %d", code, status)
		}
		return nil
	}
	kind := header.Get("Content-Type")
	if len(answer.Content) == 0 || r.Method == http.MethodHead {
		if len(answered) > 0 {
			return fmt.Errorf("a body where none is described")
		}
		return nil
	}
	if _, told := answer.Content[kind]; !told {
		return fmt.Errorf("no answer of type %q is described", kind)
	}
	if kind == "application/json" {
		if err := d.validate(at+"/responses/"+strconv.Itoa(status)+"/content/application~1json/schema", answered); err != nil {
			return err
		}
	}
	if len(sent) > 0 && e.body {
		return d.validate(at+"/requestBody/content/application~1json/schema", sent)
	}
	return nil
}

type description struct {
	table    *table
	compiler *jsonschema.Compiler
	doc      struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Examples map[string]any }
			}
		}
	}

	mu sync.Mutex
}

var described = sync.OnceValue(func() *description {
	d := &description{table: endpoints(), compiler: jsonschema.NewCompiler()}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.Document))
	if err == nil {
		err = json.Unmarshal(openapi.Document, &d.doc)
	}
	if err == nil {
		err = d.compiler.AddResource("mem:///hosted.json", whole)
	}
	if err != nil {
		panic(err)
	}
	return d
})

func (d *description) validate(pointer string, text []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	schema, err := d.compiler.Compile("mem:///hosted.json" + pointer)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func TestWhatTheDescriptionDoesNotSayIsNoticed(t *testing.T) {
	const seat = `{"userId":"u","kind":"portal","state":"invited","email":null,"displayName":null,"invitedAt":1,"invitedBy":"u","activatedAt":null,"removedAt":null,"lastSeenAt":null,"etag":"1"}`
	for name, c := range map[string]struct {
		sent     string
		status   int
		answered string
		fine     bool
	}{
		"as described":          {`{"userId":"u"}`, 201, `{"seat":` + seat + `}`, true},
		"another status":        {`{"userId":"u"}`, 200, `{"seat":` + seat + `}`, false},
		"a member is missing":   {`{"userId":"u"}`, 201, `{"seat":{"userId":"u"}}`, false},
		"another type":          {`{"userId":"u"}`, 201, `{"seat":` + strings.Replace(seat, `"invitedAt":1`, `"invitedAt":"1"`, 1) + `}`, false},
		"a body of other shape": {`{"user":"u"}`, 201, `{"seat":` + seat + `}`, false},
		"an error":              {`{}`, 409, `{"error":{"name":"CloudError","code":"seat_exists","message":"m","requestId":"r"}}`, true},
		"another's error":       {`{}`, 409, `{"error":{"name":"CloudError","code":"not_linked","message":"m","requestId":"r"}}`, false},
		"an error without id":   {`{}`, 409, `{"error":{"name":"CloudError","code":"seat_exists","message":"m"}}`, false},
	} {
		r, err := http.NewRequest("POST", "http://x"+base+"/orgs/acme/seats", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = abides(r, []byte(c.sent), c.status, http.Header{"Content-Type": {"application/json"}}, []byte(c.answered))
		if (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryAnswerIsDescribed(t *testing.T) {
	bare := map[string]bool{"/openapi.json": true, "/orgs/{org}/registry/{ns}/document": true} // documents of their own
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
	}
	if err := json.Unmarshal(openapi.Document, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, of := range methods {
			for status, answer := range of.Responses {
				body, isJSON := answer.Content["application/json"]
				if isJSON && status < "300" && len(body.Schema) == 0 && !bare[path] {
					t.Errorf("%s %s %s: the answer has no schema", method, path, status)
				}
			}
		}
	}
}
