package openfga

import (
	"context"
	"strings"

	openfgav1 "github.com/openfga/api/proto/openfga/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/authzhost/authz/bench/workload"
)

// Who asks ListUsers.
func (h *held) Who(ctx context.Context, key string, at workload.ScopeID) ([]string, error) {
	q := h.translate(workload.Question{Key: key, Scope: at})
	kind, id, _ := strings.Cut(q.object, ":")
	answer, err := h.server.ListUsers(ctx, &openfgav1.ListUsersRequest{StoreId: h.store, AuthorizationModelId: h.modelID,
		Object: &openfgav1.Object{Type: kind, Id: id}, Relation: q.relation, UserFilters: []*openfgav1.UserTypeFilter{{Type: "user"}}, Context: q.context()})
	if err != nil {
		return nil, err
	}
	users := make([]string, len(answer.GetUsers()))
	for i, u := range answer.GetUsers() {
		users[i] = u.GetObject().GetId()
	}
	return users, nil
}

// Where asks ListObjects.
func (h *held) Where(ctx context.Context, user, key string) ([]workload.ScopeID, error) {
	q := h.translate(workload.Question{User: user, Key: key})
	answer, err := h.server.ListObjects(ctx, &openfgav1.ListObjectsRequest{StoreId: h.store, AuthorizationModelId: h.modelID,
		Type: "node", Relation: q.relation, User: q.user, Context: q.context()})
	if err != nil {
		return nil, err
	}
	scopes := make([]workload.ScopeID, len(answer.GetObjects()))
	for i, name := range answer.GetObjects() {
		scopes[i] = h.scopes[name]
	}
	return scopes, nil
}

func (q request) context() *structpb.Struct {
	if q.key == "" {
		return nil
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{"key": structpb.NewStringValue(q.key)}}
}

// scopesOf are the scopes of a world by the objects that stand for them.
func scopesOf(w *workload.World) map[string]workload.ScopeID {
	scopes := map[string]workload.ScopeID{object(workload.ScopeID{}): {}}
	for _, s := range w.Scopes {
		scopes[object(s.ScopeID)] = s.ScopeID
	}
	return scopes
}
