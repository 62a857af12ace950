package scripts

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/storage"
)

// Options differ from a plain application.
type Options struct {
	OrgRoot *bool
	Events  struct{ Persist *bool }
	Audit   struct{ HashChain bool }
	SoD     json.RawMessage `json:"sod"`
	Metrics json.RawMessage
}

// UnmarshalJSON refuses what no application would be given.
func (o *Options) UnmarshalJSON(raw []byte) error {
	type plain Options
	return strictly(raw, (*plain)(o))
}

// Handler are options of the provider handler.
type Handler struct{ AuditOptIn bool }

// UnmarshalJSON refuses what no handler would be given.
func (h *Handler) UnmarshalJSON(raw []byte) error {
	type plain Handler
	return strictly(raw, (*plain)(h))
}

func strictly(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// capabilities are what the optional methods of storage drivers carry, by a part of the
// method's name.
var capabilities = []struct {
	part string
	is   storage.Capability
}{
	{"catalogversion", storage.CapHistory},
	{"auditsubjects", storage.CapAuditSubjects},
	{"imports", storage.CapImports},
	{"metrics", storage.CapMetrics},
	{"getroles", storage.CapBatchRoles},
	{"event", storage.CapEvents},
	{"headseq", storage.CapEvents},
	{"epoch", storage.CapEvents},
	{"scopeparents", storage.CapAncestry},
	{"record", storage.CapRecords},
	{"watch", storage.CapWatch},
	{"expand", storage.CapExpand},
	{"countgrants", ""}, // which every driver of ours has
	{"deleteuser", ""},
}

// Without is the store as one whose driver leaves optional methods out.
func Without(t testing.TB, store storage.Store, methods []string) storage.Store {
	t.Helper()
	var absent storage.Capabilities
methods:
	for _, method := range methods {
		for _, c := range capabilities {
			if strings.Contains(strings.ToLower(method), c.part) {
				if c.is != "" {
					absent = append(absent, c.is)
				}
				continue methods
			}
		}
		t.Fatalf("no capability carries the storage method %s", method)
	}
	if len(absent) == 0 {
		return store
	}
	return lacking.Store(store, absent...)
}
