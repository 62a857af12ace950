package apply

import (
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
)

// What became of a change.
const (
	Planned  = "planned"
	Applied  = "applied"
	Partly   = "partly applied"
	Failed   = "failed"
	Unknown  = "unknown" // no answer arrived
	NotTried = "not tried"
)

// Plan is what an apply does, its changes in the order in which they happen.
type Plan struct {
	Name        string    `json:"name"`
	Application string    `json:"application"`
	Changes     []*Change `json:"changes"`
	Warnings    []string  `json:"warnings"`

	steps      []step
	provenance authz.Provenance
	patterns   map[string][]string // of every role, once the plan is carried out
}

// Change is one line of a plan.
type Change struct {
	Action string `json:"action"` // create, update or delete
	Kind   string `json:"kind"`   // role, group or grant
	ID     string `json:"id,omitempty"`
	What   string `json:"what,omitempty"`
	State  string `json:"state"`

	left int // steps to go
	of   int
}

func (c *Change) String() string {
	sign := map[string]string{"create": "+", "update": "~", "delete": "-"}[c.Action]
	text := sign + " " + c.Kind
	if c.ID != "" {
		text += " " + c.ID
	}
	if c.What != "" {
		text += ": " + c.What
	}
	return text
}

// fields are the named parameters of an operation.
type fields = map[string]any

// step is one operation, which carries out changes or parts of them.
type step struct {
	op      string
	params  fields
	changes []*Change
}

func (p *Plan) add(action, kind, id, what string) *Change {
	c := &Change{Action: action, Kind: kind, ID: id, What: what, State: Planned}
	p.Changes = append(p.Changes, c)
	return c
}

func (p *Plan) do(op string, params fields, changes ...*Change) {
	for _, c := range changes {
		c.left++
		c.of++
	}
	p.steps = append(p.steps, step{op, params, changes})
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// Count is how many changes are of an action.
func (p *Plan) Count(action string) int {
	return p.count(func(c *Change) bool { return c.Action == action })
}

// Applied is how many changes are done.
func (p *Plan) Applied() int {
	return p.count(func(c *Change) bool { return c.State == Applied })
}

func (p *Plan) count(is func(*Change) bool) (n int) {
	for _, c := range p.Changes {
		if is(c) {
			n++
		}
	}
	return n
}
