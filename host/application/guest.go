package application

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
)

// Guest makes an application that of a neighbour's process: it runs this partition's
// rules on behalf of another member of the mesh (spec: mesh §5).
type Guest struct {
	From string // partition of the member that acts
	As   string // on whose behalf, a user id or service:<id>

	// Admit is asked at the beginning of every write, and answers the version of the
	// registry that permits it. Its error ends the write.
	Admit func(ctx context.Context, op string) (registryVersion int64, err error)
}

// visit is what a write of a guest leaves in the audit log beside the action's own
// members (spec: mesh §5.2).
type visit struct {
	From            string `json:"from"`
	As              string `json:"as"`
	RegistryVersion int64  `json:"registryVersion"`
}

// admit begins a write of a guest; nil is a write of the partition's own application.
func (a *Application) admit(ctx context.Context, op string) (*visit, error) {
	if a.guest == nil {
		return nil, nil
	}
	version, err := a.guest.Admit(ctx, op)
	return &visit{From: a.guest.From, As: a.guest.As, RegistryVersion: version}, err
}

// via is the provenance of a row that is written; it names the guest.
func (d *draft) via(p authz.Provenance) authz.Provenance {
	if d.visit != nil {
		p.Via = d.visit.From
	}
	return p
}

// actor is who the audit log names for an actor of the write.
func (d *draft) actor(whom string) string {
	if d.visit == nil {
		return whom
	}
	return "mesh:" + d.visit.From + "/" + whom
}

// entered is the detail of an audit entry with the guest's visit.
func (d *draft) entered(detail json.RawMessage) json.RawMessage {
	if d.visit == nil {
		return detail
	}
	members := map[string]any{}
	if len(detail) > 0 {
		own := map[string]json.RawMessage{}
		if err := json.Unmarshal(detail, &own); err != nil {
			panic(fmt.Sprintf("an audit detail is no object: %v", err))
		}
		for name, value := range own {
			members[name] = value
		}
	}
	members["mesh"] = d.visit
	raw, err := json.Marshal(members)
	if err != nil {
		panic(fmt.Sprintf("audit detail of a guest: %v", err))
	}
	return raw
}
