package applications

import (
	"regexp"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/internal/spell"
)

// State of an application.
type State string

// The states (spec: hosted-api §7).
const (
	Registered State = "registered"
	Linked     State = "linked"
	Federated  State = "federated"
)

// Limits (spec: hosted-api §7).
const (
	MaxApplications = 200
	MaxNamespaces   = 20
)

// Application is an entry as the API shows it. Instants are epoch milliseconds.
type Application struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Namespaces  []string    `json:"namespaces"` // the first is primary
	State       State       `json:"state"`
	RelayURL    *string     `json:"relayUrl"`
	SecretHint  *string     `json:"secretHint"`
	LinkedAt    *int64      `json:"linkedAt"`
	FederatedAt *int64      `json:"federatedAt"`
	AuditOptIn  bool        `json:"auditOptIn"`
	Health      *Health     `json:"health"`
	Registry    []Published `json:"registry"`
	LastSyncAt  *int64      `json:"lastSyncAt"`
	Operation   *Operation  `json:"operation"`
	CreatedAt   int64       `json:"createdAt"`
	CreatedBy   string      `json:"createdBy"`
	Etag        string      `json:"etag"`
}

// Published is the head of a namespace; nil members: nothing is published yet.
type Published struct {
	Namespace   string `json:"namespace"`
	Version     *int64 `json:"version"`
	PublishedAt *int64 `json:"publishedAt"`
}

// Operation is a move of authority that is under way (spec: federation §4).
type Operation struct {
	Kind      string `json:"kind"`
	Step      string `json:"step"`
	StartedAt int64  `json:"startedAt"`

	// Trouble is why it does not go on, "" while it does: a code of the API.
	Trouble string `json:"trouble,omitempty"`
}

// Reachable reports an application that can be asked.
func (a Application) Reachable() bool { return a.State == Linked || a.State == Federated }

// entry is what is stored: without what is read from elsewhere, with the secret.
// Secret and relay URL lie in one record, so that nobody sends the one to an older
// other.
type entry struct {
	Application
	Secret *secret.Sealed `json:"secret,omitempty"` // nil for local ones

	// Creation and Link are the ids of the work that made the entry, and that linked
	// or unlinked it last: by them a repeat after this host died knows its own.
	Creation string `json:"creation"`
	Link     string `json:"link,omitempty"`
}

// claim says which application has a namespace.
type claim struct {
	Application string `json:"application"`
}

var (
	entries = account.Collection[entry]{Name: "applications"}
	claims  = account.Collection[claim]{Name: "namespaces"}
)

var applicationID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// section is where entries and the mode of their org change.
func section(org string) string { return "org:" + org }

func missing(id string) *fault.Error {
	return fault.Cloud("application_not_found", "the org has no application %s", spell.Quote(id))
}

func notLinked(id string) *fault.Error {
	return fault.Cloud("not_linked", "the application %s is not linked", id)
}

func transition(from State, operation string) *fault.Error {
	return fault.Cloud("invalid_transition", "an application that is %s does not take %s", from, operation).
		With("from", from).With("operation", operation)
}
