package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// Users administers user records and the reporting tree.
type Users interface {
	SetUserActive(ctx context.Context, userID string, active bool, prov authz.Provenance) error

	// SetReportingEdge sets the user's manager; "" clears the edge.
	SetReportingEdge(ctx context.Context, userID, managerUserID string, prov authz.Provenance) error

	// GetReportingEdges maps user ids to manager ids.
	GetReportingEdges(ctx context.Context) (map[string]string, error)

	// GetUser is the record of a user, nil where none is stored.
	GetUser(ctx context.Context, userID string) (*authz.User, error)
}

type (
	edgesOut struct {
		Edges map[string]string `json:"edges"`
	}

	userOut struct {
		User *authz.User `json:"user"`
	}

	getUserIn struct {
		UserID string `json:"userId" read:"required"`
	}

	setUserActiveIn struct {
		UserID     string           `json:"userId" read:"required"`
		Active     bool             `json:"active" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}

	// On the wire null alone clears the edge: "" is refused.
	setReportingEdgeIn struct {
		UserID        string           `json:"userId" read:"required"`
		ManagerUserID *string          `json:"managerUserId" read:"required,null,nonempty" doc:"Null clears the edge."`
		Provenance    authz.Provenance `json:"provenance" read:"required"`
	}
)

var opSetUserActive = declare(Operation{Op: "setUserActive", Kind: Write, Method: "SetUserActive",
	Tag: "users", Summary: "Activate or deactivate a user"},
	func(ctx context.Context, to Provider, in *setUserActiveIn) (none, error) {
		return none{}, to.SetUserActive(ctx, in.UserID, in.Active, in.Provenance)
	})

func (c Calls) SetUserActive(ctx context.Context, userID string, active bool, prov authz.Provenance) error {
	return tell(ctx, c, opSetUserActive, setUserActiveIn{userID, active, prov})
}

var opSetReportingEdge = declare(Operation{Op: "setReportingEdge", Kind: Write, Method: "SetReportingEdge",
	Tag: "users", Summary: "Set or clear the manager of a user"},
	func(ctx context.Context, to Provider, in *setReportingEdgeIn) (none, error) {
		manager := ""
		if in.ManagerUserID != nil {
			manager = *in.ManagerUserID
		}
		return none{}, to.SetReportingEdge(ctx, in.UserID, manager, in.Provenance)
	})

func (c Calls) SetReportingEdge(ctx context.Context, userID, managerUserID string, prov authz.Provenance) error {
	in := setReportingEdgeIn{UserID: userID, Provenance: prov}
	if managerUserID != "" {
		in.ManagerUserID = &managerUserID
	}
	return tell(ctx, c, opSetReportingEdge, in)
}

var opGetReportingEdges = declare(Operation{Op: "getReportingEdges", Kind: Read, Method: "GetReportingEdges",
	Tag: "users", Summary: "Map every user to the manager", Answer: "By user id; users without a manager are absent."},
	func(ctx context.Context, to Provider, _ *none) (edgesOut, error) {
		edges, err := to.GetReportingEdges(ctx)
		if edges == nil {
			edges = map[string]string{}
		}
		return edgesOut{edges}, err
	})

func (c Calls) GetReportingEdges(ctx context.Context) (map[string]string, error) {
	out, err := ask(ctx, c, opGetReportingEdges, none{})
	return out.Edges, err
}

var opGetUser = declare(Operation{Op: "getUser", Kind: Read, Method: "GetUser",
	Tag: "users", Summary: "Read the record of a user", Answer: "The direct groups, the orgs and the manager, or null where nothing is stored of the user."},
	func(ctx context.Context, to Provider, in *getUserIn) (userOut, error) {
		user, err := to.GetUser(ctx, in.UserID)
		return userOut{user}, err
	})

func (c Calls) GetUser(ctx context.Context, userID string) (*authz.User, error) {
	out, err := ask(ctx, c, opGetUser, getUserIn{userID})
	return out.User, err
}
