package hosted

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
)

// endpoint is a row of the table of endpoints (spec: hosted-api §8): what is the
// same in code, document and test.
type endpoint struct {
	Method, Path string
	Summary      string

	// Gate is judged before the handler runs. An input that is gated says itself
	// which one. GateText is the document's wording where it is not Gate's.
	Gate     service.Gate
	GateText string

	// Status is that of a success; others are in Also.
	Status int
	Also   []int

	// Own are the codes of this endpoint's own errors.
	Own []string

	Audit, Meter []string

	// Conditional marks PATCH, PUT and DELETE that honour If-Match.
	Conditional bool

	// Relayed marks writes and reads of another application's data: what an
	// interrupted one has done, nobody here can tell.
	Relayed bool

	// Piecemeal marks writes that keep what they did before a read of theirs failed.
	Piecemeal bool

	// BodyLimit in bytes, 0 for 1 MiB; Within bounds the answer, 0 for 30 s.
	BodyLimit int64
	Within    time.Duration

	// Proof says when a session needs a recent sign-in (service.ProofLife).
	Proof proofRule

	// Rate of the credential (of the address when Public), zero for reads or writes.
	Rate rate

	// During a preview only reads go on, and what is marked here.
	WhilePreviewing bool

	// Unkept marks a POST that changes nothing: its answers are stored nowhere, and an
	// Idempotency-Key counts for nothing.
	Unkept bool

	// OriginRule marks the sign-in, to which it applies without a session.
	OriginRule bool

	// Signals marks a stream that waits: it is no use of its credential, and holds no
	// place to work in.
	Signals bool

	// Produces is the media type of a success, "" for JSON.
	Produces string

	browser    bool     // a page is navigated here: whatever it accepts
	parameters []string // names in the path, in order
	input      reflect.Type
	output     reflect.Type
	read       func(body []byte, values map[string]string, query string) (any, *fault.Error)
	gate       func(input any) service.Gate
	handle     func(ctx context.Context, c *Call, input any) (any, error)
	paged      bool
	body       bool // has members
	bodyNeeded bool // has required members
}

// proofRule says when a session needs a recent sign-in. Keys never do.
type proofRule int

const (
	proofNever proofRule = iota
	proofAlways
	proofInGate  // always; the service judges it with the gate, which is its own
	proofOfOwner // where an owner's seat is made or ended, which the service finds out
)

// gated inputs decide by their values which gate their call has to pass.
type gated interface{ gate() service.Gate }

// judged inputs have a gate that the service judges with the write. They judge it
// alone, changing nothing, before an answer that was kept is looked up.
type judged interface {
	judge(ctx context.Context, c *Call) error
}

// None is the output of endpoints that answer 204.
type None struct{}

var parameterName = regexp.MustCompile(`\{([a-zA-Z]+)\}`)

// table is the endpoints in the order of the chapter.
type table struct {
	list   []*endpoint
	routes routes
}

// add binds an endpoint. In is a struct whose fields have a path, query or json
// tag; Out marshals to the answer's object, is None, or a responder.
func add[In, Out any](t *table, e endpoint, handle func(ctx context.Context, c *Call, in In) (Out, error)) {
	for _, m := range parameterName.FindAllStringSubmatch(e.Path, -1) {
		e.parameters = append(e.parameters, m[1])
	}
	if e.Status == 0 {
		e.Status = http.StatusOK
	}
	e.input, e.output = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	if e.output == reflect.TypeFor[None]() {
		e.Status = http.StatusNoContent
	}
	for _, f := range bodyFields(e.input) {
		e.body, e.bodyNeeded = true, e.bodyNeeded || !f.optional
	}
	_, e.paged = e.input.FieldByName("Paging")
	path := tagged(e.input, "path")
	if len(path) != len(e.parameters) || e.body && e.Method == http.MethodGet {
		panic(fmt.Sprintf("endpoint %s %s: its input does not fit", e.Method, e.Path))
	}
	e.read = func(body []byte, values map[string]string, query string) (any, *fault.Error) {
		var in In
		if problem := parameters(values, query, &in); problem != nil {
			return nil, problem
		}
		if e.takesBody() && (len(body) > 0 || e.bodyNeeded) {
			if problem := decode(body, &in); problem != nil {
				return nil, problem
			}
		}
		if e.changes() {
			if problem := changesSomething(in); problem != nil {
				return nil, problem
			}
		}
		return in, nil
	}
	e.gate = func(input any) service.Gate {
		if own, ok := input.(gated); ok {
			return own.gate()
		}
		return e.Gate
	}
	e.handle = func(ctx context.Context, c *Call, input any) (any, error) { return handle(ctx, c, input.(In)) }
	kept := &e
	t.list = append(t.list, kept)
	t.routes.add(kept)
}

// write tells whether the endpoint changes state.
func (e *endpoint) write() bool { return e.Method != http.MethodGet }

// changes tells whether the body names what is to be another.
func (e *endpoint) changes() bool { return e.Method == http.MethodPatch }

func (e *endpoint) inOrg() bool { return strings.HasPrefix(e.Path, "/orgs/{org}") }

func (e *endpoint) within() time.Duration {
	if e.Within == 0 {
		return answerTimeout
	}
	return e.Within
}

func (e *endpoint) bodyLimit() int64 {
	if e.BodyLimit == 0 {
		return 1 << 20
	}
	return e.BodyLimit
}

// rate is the bucket of the credential that a call is counted in.
func (e *endpoint) rate() rate {
	switch {
	case e.Rate != rate{}:
		return e.Rate
	case e.write():
		return rateWrites
	default:
		return rateReads
	}
}

func (e *endpoint) takesBody() bool {
	return e.Method != http.MethodGet && e.Method != http.MethodDelete
}

// keeps tells whether an Idempotency-Key counts.
func (e *endpoint) keeps() bool {
	return e.Method == http.MethodPost && e.Gate.Kind != service.GatePublic && !e.Unkept
}

// accepts is the media type of answers that are not JSON objects.
func (e *endpoint) accepts() string {
	if e.Produces == "" {
		return "application/json"
	}
	return e.Produces
}

func pagingOf(input any) Paging {
	p, _ := reflect.ValueOf(input).FieldByName("Paging").Interface().(Paging)
	return p
}
