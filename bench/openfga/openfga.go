// Package openfga holds the world in an embedded OpenFGA server and asks it
// through the server's own Check, in process, without gRPC or HTTP between.
package openfga

import (
	"context"
	"fmt"
	"slices"
	"time"

	openfgav1 "github.com/openfga/api/proto/openfga/v1"
	"github.com/openfga/language/pkg/go/transformer"
	"github.com/openfga/openfga/pkg/server"
	"github.com/openfga/openfga/pkg/storage"
	"github.com/openfga/openfga/pkg/storage/memory"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

const (
	module = "github.com/openfga/openfga"

	// resolveNodes is above the default of 25, which refuses a tree 20 deep with
	// nested groups.
	resolveNodes = 100
	modelBytes   = 8 << 20
	batch        = 100 // the most that one Write takes by default
)

// Memory asks a server over OpenFGA's in-memory datastore.
func Memory() engine.Peer {
	return engine.Peer{Name: "openfga", Module: module,
		Model: "relations for roles, areas and keys, folders inherit, revokes by `but not`; in-memory datastore",
		Load: func(ctx context.Context, w *workload.World) (engine.Engine, error) {
			return load(ctx, w, memory.New())
		}}
}

type held struct {
	server         *server.Server
	store, modelID string
}

func load(ctx context.Context, w *workload.World, datastore storage.OpenFGADatastore) (*held, error) {
	s, err := server.NewServerWithOpts(
		server.WithDatastore(datastore),
		server.WithResolveNodeLimit(resolveNodes),
		server.WithMaxAuthorizationModelSizeInBytes(modelBytes),
		server.WithRequestTimeout(time.Minute),
	)
	if err != nil {
		return nil, fmt.Errorf("openfga: %w", err)
	}
	h := &held{server: s}
	if err := h.write(ctx, w); err != nil {
		s.Close()
		return nil, fmt.Errorf("openfga: %w", err)
	}
	return h, nil
}

func (h *held) write(ctx context.Context, w *workload.World) error {
	created, err := h.server.CreateStore(ctx, &openfgav1.CreateStoreRequest{Name: "bench"})
	if err != nil {
		return err
	}
	h.store = created.GetId()
	m, err := transformer.TransformDSLToProto(model(w))
	if err != nil {
		return err
	}
	written, err := h.server.WriteAuthorizationModel(ctx, &openfgav1.WriteAuthorizationModelRequest{
		StoreId: h.store, SchemaVersion: m.GetSchemaVersion(), TypeDefinitions: m.GetTypeDefinitions()})
	if err != nil {
		return err
	}
	h.modelID = written.GetAuthorizationModelId()
	for some := range slices.Chunk(tuples(w), batch) {
		_, err := h.server.Write(ctx, &openfgav1.WriteRequest{StoreId: h.store, AuthorizationModelId: h.modelID,
			Writes: &openfgav1.WriteRequestWrites{TupleKeys: some}})
		if err != nil {
			return err
		}
	}
	return nil
}

// Ask readies the strings of the requests.
func (h *held) Ask(ctx context.Context, questions []workload.Question) (engine.Check, error) {
	type request struct{ user, relation, object string }
	asked := make([]request, len(questions))
	for i, q := range questions {
		asked[i] = request{"user:" + q.User, "can_" + relation(q.Key), object(q.Scope)}
	}
	return func(i int) (bool, error) {
		q := &asked[i]
		answer, err := h.server.Check(ctx, &openfgav1.CheckRequest{StoreId: h.store, AuthorizationModelId: h.modelID,
			TupleKey: &openfgav1.CheckRequestTupleKey{User: q.user, Relation: q.relation, Object: q.object}})
		if err != nil {
			return false, err
		}
		return answer.GetAllowed(), nil
	}, nil
}

// Close ends the server.
func (h *held) Close() { h.server.Close() }
