package verify

// module is what a file says to the rest of its project: what it declares at the top,
// imports and exports, and what it serves. It is made of one file's text alone, so that
// it can be kept; what it means together with others is worked out by project.
type module struct {
	Decls   map[string]*value  `json:"decls,omitempty"` // "default" for a default export without a name
	Imports map[string]binding `json:"imports,omitempty"`
	Exports map[string]binding `json:"exports,omitempty"`
	Stars   []string           `json:"stars,omitempty"` // modules of which everything is exported

	Served  []served `json:"served,omitempty"`
	Routers []router `json:"routers,omitempty"`

	// Guards are the classes that NestJS asks before every request.
	Guards []*value `json:"guards,omitempty"`

	// Pending are calls of gates with arguments that may be constants.
	Pending []pendingCall `json:"pending,omitempty"`

	// Pragmas suppress what is found; they are applied when all is.
	Pragmas map[int][]Suppression `json:"pragmas,omitempty"`

	file string
}

// binding is a name of another module, or of this one where From is "". Name is "*"
// for the module itself.
type binding struct {
	From string `json:"from,omitempty"`
	Name string `json:"name"`
}

// served is a server function.
type served struct {
	Name   string `json:"name"`
	How    how    `json:"how,omitempty"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Value  *value `json:"value"`
	Exempt bool   `json:"exempt,omitempty"`

	// Star is a module all of whose exports are meant, as far as Of takes them.
	Star string     `json:"star,omitempty"`
	Of   exportKind `json:"of,omitempty"`

	// Around are decorators, of the method and of its class.
	Around []*value `json:"around,omitempty"`
}

// how says by what a function is served.
type how int

const (
	byExport how = iota
	byAction     // "use server" inside
	byProcedure
	byDecorator
)

// valueKind tells values apart.
type valueKind int

const (
	other valueKind = iota
	function
	reference // Path
	call      // Path and Links
	object    // Fields
	text      // Text
	list      // Items: of an array, or what it is one of
)

// value is an expression as far as another one may mean it.
type value struct {
	Kind   valueKind `json:"k,omitempty"`
	Path   []string  `json:"path,omitempty"`
	Links  []link    `json:"links,omitempty"`
	Fields []field   `json:"fields,omitempty"`
	Items  []*value  `json:"items,omitempty"`
	Text   string    `json:"text,omitempty"`

	Gated  bool   `json:"gated,omitempty"`  // a recognised call lies inside
	Router string `json:"router,omitempty"` // the router that it is, or, of a function, that it is given or makes

	// Refuses: a function that refuses in its own text, with RefusalsGate.
	Refuses bool `json:"refuses,omitempty"`

	body *inspection // of a function, for Propose
}

// link is a call in a chain: of the root, or of a method of what came before.
type link struct {
	Name string   `json:"name"`
	Args []*value `json:"args,omitempty"`
}

type field struct {
	Name  string `json:"name"`
	Value *value `json:"value"`
}

func (v *value) field(name string) *value {
	for i := range v.Fields {
		if v.Fields[i].Name == name {
			return v.Fields[i].Value
		}
	}
	return nil
}

// pendingCall is a recognised call some of whose arguments may be constants. What it
// finds takes the places that were left in the file's findings.
type pendingCall struct {
	Use       Use               `json:"use"`
	Arguments []pendingArgument `json:"arguments"`
	Condition int               `json:"condition"` // the place of a missing condition, -1 where it shows one

	// LastIsText: it shows no condition only where the last of Arguments is a string.
	LastIsText bool `json:"lastIsText,omitempty"`
}

type pendingArgument struct {
	Place       int    `json:"place"` // of its finding, -1 where it is judged already
	Value       *value `json:"value,omitempty"`
	Conditional string `json:"conditional,omitempty"` // a key that is known already
}

// router is a router of Hono, Express or Fastify: what was said to it, in order.
type router struct {
	ID     string  `json:"id"`
	Exact  bool    `json:"exact,omitempty"` // a path without "*" is meant whole, as in Hono
	Events []event `json:"events,omitempty"`
}

// event is a route, or middleware and routers that are mounted.
type event struct {
	Route    bool     `json:"route,omitempty"`
	Name     string   `json:"name,omitempty"`
	Path     string   `json:"path,omitempty"`
	Anywhere bool     `json:"anywhere,omitempty"` // no path is told
	Unclear  bool     `json:"unclear,omitempty"`  // a path that is no literal
	Handlers []*value `json:"handlers,omitempty"`
	Exempt   bool     `json:"exempt,omitempty"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
}
