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
	"github.com/spf13/viper"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

const (
	module = "github.com/openfga/openfga"

	// resolveNodes is above the default of 25, which refuses a tree 20 deep with
	// nested groups; modelBytes above the default of 256 KiB, which refuses 300
	// permissions; batch above the default of 100, because each Write reads the
	// whole model anew.
	resolveNodes = 100
	modelBytes   = 8 << 20
	batch        = 5000

	// conditionCost is above the default of 100, at which a condition over more than
	// a hundred keys is not evaluated and its tuple passed over.
	conditionCost = 1000
)

// Relations asks by the model of relations, over OpenFGA's in-memory datastore.
func Relations() engine.Peer {
	return engine.Peer{Name: "openfga", Module: module,
		Model: "relations for roles, areas and keys, folders inherit, revokes by `but not`; its in-memory datastore",
		Load: func(ctx context.Context, w *workload.World) (engine.Engine, error) {
			return load(ctx, w, memory.New(memory.WithMaxTuplesPerWrite(batch)), relations(w), relationTuples(w), func(q workload.Question) request {
				return request{user: "user:" + q.User, relation: "can_" + relation(q.Key), object: object(q.Scope)}
			})
		}}
}

// Conditions asks by the model of conditions, over OpenFGA's in-memory datastore.
func Conditions() engine.Peer {
	return engine.Peer{Name: "openfga conditions", Module: module,
		Model: "the keys of a grant in a condition of its tuple, the key asked for in the check's context; its in-memory datastore",
		Load: func(ctx context.Context, w *workload.World) (engine.Engine, error) {
			tuples, err := conditionTuples(w)
			if err != nil {
				return nil, err
			}
			return load(ctx, w, memory.New(memory.WithMaxTuplesPerWrite(batch)), conditions, tuples, byCondition)
		}}
}

func byCondition(q workload.Question) request {
	return request{user: "user:" + q.User, relation: "can", object: object(q.Scope), key: q.Key}
}

// request holds the strings of a check; key goes into its context unless empty.
type request struct{ user, relation, object, key string }

type held struct {
	server         *server.Server
	store, modelID string
	translate      func(workload.Question) request
	scopes         map[string]workload.ScopeID // by object
}

func load(ctx context.Context, w *workload.World, datastore storage.OpenFGADatastore, model string, tuples []*openfgav1.TupleKey, translate func(workload.Question) request) (*held, error) {
	viper.Set("maxConditionEvaluationCost", conditionCost) // it has no option of its own
	s, err := server.NewServerWithOpts(
		server.WithDatastore(datastore),
		server.WithResolveNodeLimit(resolveNodes),
		server.WithMaxAuthorizationModelSizeInBytes(modelBytes),
		server.WithRequestTimeout(time.Minute),
		// Whole lists: by default they end after 3 s, or a thousand results.
		server.WithListObjectsDeadline(time.Minute), server.WithListObjectsMaxResults(0),
		server.WithListUsersDeadline(time.Minute), server.WithListUsersMaxResults(0),
	)
	if err != nil {
		return nil, fmt.Errorf("openfga: %w", err)
	}
	h := &held{server: s, translate: translate, scopes: scopesOf(w)}
	if err := h.write(ctx, model, tuples); err != nil {
		s.Close()
		return nil, fmt.Errorf("openfga: %w", err)
	}
	return h, nil
}

func (h *held) write(ctx context.Context, model string, tuples []*openfgav1.TupleKey) error {
	created, err := h.server.CreateStore(ctx, &openfgav1.CreateStoreRequest{Name: "bench"})
	if err != nil {
		return err
	}
	h.store = created.GetId()
	m, err := transformer.TransformDSLToProto(model)
	if err != nil {
		return err
	}
	written, err := h.server.WriteAuthorizationModel(ctx, &openfgav1.WriteAuthorizationModelRequest{
		StoreId: h.store, SchemaVersion: m.GetSchemaVersion(), TypeDefinitions: m.GetTypeDefinitions(), Conditions: m.GetConditions()})
	if err != nil {
		return err
	}
	h.modelID = written.GetAuthorizationModelId()
	for some := range slices.Chunk(tuples, batch) {
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
	asked := make([]request, len(questions))
	for i, q := range questions {
		asked[i] = h.translate(q)
	}
	return func(i int) (bool, error) {
		q := &asked[i]
		check := &openfgav1.CheckRequest{StoreId: h.store, AuthorizationModelId: h.modelID, Context: q.context(),
			TupleKey: &openfgav1.CheckRequestTupleKey{User: q.user, Relation: q.relation, Object: q.object}}
		answer, err := h.server.Check(ctx, check)
		if err != nil {
			return false, err
		}
		return answer.GetAllowed(), nil
	}, nil
}

// Close ends the server.
func (h *held) Close() { h.server.Close() }
