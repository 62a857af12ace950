package billing

// The dimensions (spec: hosted-api §16).
const (
	AdminSeats            = "admin_seats"
	LinkedApplications    = "linked_applications"
	FederatedApplications = "federated_applications"
	ProvisionedConnectors = "provisioned_connectors"
	RetainedAuditEvents   = "retained_audit_events"
	CatalogPublishes      = "catalog_publishes"
	ReadModelSyncs        = "read_model_syncs"
)

// Kind says how a dimension is counted.
type Kind string

// The kinds: what is there now; what was added in the period; the same, of what
// is slowed rather than refused.
const (
	Standing  Kind = "standing"
	Counted   Kind = "counted"
	Guardrail Kind = "guardrail"
)

type dimension struct {
	name string
	kind Kind
	unit string

	// degraded names what a reached cap holds back.
	degraded string
}

// dimensions in the order of the chapter, which is that of the answer.
var dimensions = []dimension{
	{AdminSeats, Standing, "seat", "seat_activation"},
	{LinkedApplications, Standing, "application", "linking"},
	{FederatedApplications, Standing, "application", "federating"},
	{ProvisionedConnectors, Standing, "connector", "reconciling"},
	{RetainedAuditEvents, Counted, "event", "ingest"},
	{CatalogPublishes, Guardrail, "publish", "publishing"},
	{ReadModelSyncs, Guardrail, "sync", "syncing"},
}

func lookup(name string) (dimension, bool) {
	for _, d := range dimensions {
		if d.name == name {
			return d, true
		}
	}
	return dimension{}, false
}

// State says how a value stands to its cap.
type State string

// The states of a dimension; without a cap it is under.
const (
	Under   State = "under"
	Reached State = "reached"
	Over    State = "over"
)

// Dimension is one meter. Cap nil is none. Degraded names what is held back,
// nil while nothing is.
type Dimension struct {
	Dimension string  `json:"dimension"`
	Kind      Kind    `json:"kind"`
	Unit      string  `json:"unit"`
	Value     int64   `json:"value"`
	Cap       *int64  `json:"cap"`
	State     State   `json:"state"`
	Degraded  *string `json:"degraded"`
}

func (d dimension) reading(value int64, limit *int64) Dimension {
	out := Dimension{Dimension: d.name, Kind: d.kind, Unit: d.unit, Value: value, Cap: limit, State: Under}
	switch {
	case limit == nil || value < *limit:
		return out
	case value == *limit:
		out.State = Reached
	default:
		out.State = Over
	}
	out.Degraded = &d.degraded
	return out
}
