package provider

import (
	"context"
	"iter"

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

	// ListUsers lists the users that rows name, by id: those of records and the managers
	// in them, of grants, of revokes, and of requests that they filed.
	ListUsers(ctx context.Context, q UserQuery) iter.Seq2[ListedUser, error]
}

// UserQuery selects users; a nil Active is absent.
type UserQuery struct {
	Prefix string `json:"prefix,omitempty" doc:"With which the user id begins."`
	Active *bool  `json:"active,omitempty" read:"filter"`
	Stored bool   `json:"stored,omitempty" doc:"Those who have a record, and no others."`
	Paging `json:"-"`
}

// ListedUser is a user in a list. Who has no record is active.
type ListedUser struct {
	UserID string `json:"userId"`
	Active bool   `json:"active"`
	Stored bool   `json:"stored"`
}

type (
	edgesOut struct {
		Edges map[string]string `json:"edges"`
	}

	userOut struct {
		User *authz.User `json:"user"`
	}

	listUsersIn struct {
		Paged
		Filter UserQuery `json:"filter"`
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

var opListUsers = declareList(Operation{Op: "listUsers", Method: "ListUsers", List: "users",
	Tag: "users", Summary: "List the users that rows name", Answer: "Ascending by user id. Users of whom nothing is stored are unknown here."},
	func(u *ListedUser) any { return u.UserID },
	func(ctx context.Context, to Provider, in *listUsersIn) iter.Seq2[ListedUser, error] {
		in.Filter.Paging = in.paging()
		return to.ListUsers(ctx, in.Filter)
	})

func (c Calls) ListUsers(ctx context.Context, q UserQuery) iter.Seq2[ListedUser, error] {
	return rows(ctx, c, opListUsers, listUsersIn{q.paged(), q})
}
