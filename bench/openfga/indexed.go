package openfga

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	openfgav1 "github.com/openfga/api/proto/openfga/v1"
	"github.com/openfga/openfga/pkg/storage"
	"github.com/openfga/openfga/pkg/storage/memory"
	"github.com/openfga/openfga/pkg/tuple"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

// Indexed asks by the model of conditions, over a datastore of this bench, so that
// what is measured is OpenFGA and not the scans of its in-memory datastore.
func Indexed() engine.Peer {
	return engine.Peer{Name: "openfga indexed", Module: module,
		Model: "the model of conditions over an indexed in-memory datastore of this bench's making",
		Load: func(ctx context.Context, w *workload.World) (engine.Engine, error) {
			tuples, err := conditionTuples(w)
			if err != nil {
				return nil, err
			}
			return load(ctx, w, newIndexed(), conditions, tuples, byCondition)
		}}
}

// indexed is OpenFGA's in-memory datastore for stores and models, with tuples of a
// single store in maps instead of a list that every read and write scans. It
// serves loading and checks; deletes and listings it refuses.
type indexed struct {
	storage.OpenFGADatastore

	mu       sync.RWMutex
	byObject map[string][]*openfgav1.Tuple // by object#relation
	byUser   map[string][]*openfgav1.Tuple // by type#relation@user, in order of objects
	exact    map[string]*openfgav1.Tuple   // by object#relation@user
}

var errRefused = errors.New("the bench's datastore for OpenFGA serves writes and checks alone")

func newIndexed() *indexed {
	return &indexed{OpenFGADatastore: memory.New(memory.WithMaxTuplesPerWrite(batch)),
		byObject: map[string][]*openfgav1.Tuple{}, byUser: map[string][]*openfgav1.Tuple{}, exact: map[string]*openfgav1.Tuple{}}
}

// Write adds tuples; one that is there already refuses the whole call.
func (d *indexed) Write(_ context.Context, _ string, deletes storage.Deletes, writes storage.Writes, _ ...storage.TupleWriteOption) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(deletes) > 0 {
		return errRefused
	}
	for _, key := range writes {
		if d.exact[key.GetObject()+"#"+key.GetRelation()+"@"+key.GetUser()] != nil {
			return storage.InvalidWriteInputError(key, openfgav1.TupleOperation_TUPLE_OPERATION_WRITE)
		}
	}
	for _, key := range writes {
		t := &openfgav1.Tuple{Key: key}
		at := key.GetObject() + "#" + key.GetRelation()
		d.byObject[at] = append(d.byObject[at], t)
		d.exact[at+"@"+key.GetUser()] = t
		of := tuple.GetType(key.GetObject()) + "#" + key.GetRelation() + "@" + key.GetUser()
		i, _ := slices.BinarySearchFunc(d.byUser[of], key.GetObject(), func(t *openfgav1.Tuple, object string) int {
			return strings.Compare(t.GetKey().GetObject(), object)
		})
		d.byUser[of] = slices.Insert(d.byUser[of], i, t)
	}
	return nil
}

// Read answers the tuples of one object and relation.
func (d *indexed) Read(_ context.Context, _ string, f storage.ReadFilter, _ storage.ReadOptions) (storage.TupleIterator, error) {
	if _, id := tuple.SplitObject(f.Object); id == "" || f.Relation == "" || f.User != "" {
		return nil, errRefused
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return storage.NewStaticTupleIterator(conditioned(d.byObject[f.Object+"#"+f.Relation], f.Conditions)), nil
}

// ReadUserTuple answers one tuple.
func (d *indexed) ReadUserTuple(_ context.Context, _ string, f storage.ReadUserTupleFilter, _ storage.ReadUserTupleOptions) (*openfgav1.Tuple, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if t := d.exact[f.Object+"#"+f.Relation+"@"+f.User]; t != nil && allows(f.Conditions, t) {
		return t, nil
	}
	return nil, storage.ErrNotFound
}

// ReadUsersetTuples answers the tuples of one object and relation whose user is a
// set of an allowed kind.
func (d *indexed) ReadUsersetTuples(_ context.Context, _ string, f storage.ReadUsersetTuplesFilter, _ storage.ReadUsersetTuplesOptions) (storage.TupleIterator, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var found []*openfgav1.Tuple
	for _, t := range d.byObject[f.Object+"#"+f.Relation] {
		user := t.GetKey().GetUser()
		if tuple.GetUserTypeFromUser(user) != tuple.UserSet {
			continue
		}
		kind := tuple.GetType(user)
		_, relation := tuple.SplitObjectRelation(user)
		if slices.ContainsFunc(f.AllowedUserTypeRestrictions, func(r *openfgav1.RelationReference) bool {
			return r.GetType() == kind && r.GetRelation() == relation
		}) {
			found = append(found, t)
		}
	}
	return storage.NewStaticTupleIterator(conditioned(found, f.Conditions)), nil
}

// ReadStartingWithUser answers the objects of a type to which users have a
// relation, in order of objects.
func (d *indexed) ReadStartingWithUser(_ context.Context, _ string, f storage.ReadStartingWithUserFilter, _ storage.ReadStartingWithUserOptions) (storage.TupleIterator, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var found []*openfgav1.Tuple
	for _, user := range f.UserFilter {
		name := user.GetObject()
		if user.GetRelation() != "" {
			name = tuple.GetObjectRelationAsString(user)
		}
		for _, t := range d.byUser[f.ObjectType+"#"+f.Relation+"@"+name] {
			_, id := tuple.SplitObject(t.GetKey().GetObject())
			if f.ObjectIDs == nil || f.ObjectIDs.Exists(id) {
				found = append(found, t)
			}
		}
	}
	found = conditioned(found, f.Conditions)
	if len(f.UserFilter) > 1 {
		slices.SortStableFunc(found, func(a, b *openfgav1.Tuple) int {
			return strings.Compare(a.GetKey().GetObject(), b.GetKey().GetObject())
		})
	}
	return storage.NewStaticTupleIterator(found), nil
}

// allows says whether a filter wants a tuple's condition; an empty one wants all.
func allows(conditions []string, t *openfgav1.Tuple) bool {
	return len(conditions) == 0 || slices.Contains(conditions, t.GetKey().GetCondition().GetName())
}

func conditioned(tuples []*openfgav1.Tuple, conditions []string) []*openfgav1.Tuple {
	if !slices.ContainsFunc(tuples, func(t *openfgav1.Tuple) bool { return !allows(conditions, t) }) {
		return tuples
	}
	return slices.DeleteFunc(slices.Clone(tuples), func(t *openfgav1.Tuple) bool { return !allows(conditions, t) })
}

// ReadPage is refused.
func (d *indexed) ReadPage(context.Context, string, storage.ReadFilter, storage.ReadPageOptions) ([]*openfgav1.Tuple, string, error) {
	return nil, "", errRefused
}

// ReadChanges is refused.
func (d *indexed) ReadChanges(context.Context, string, storage.ReadChangesFilter, storage.ReadChangesOptions) ([]*openfgav1.TupleChange, string, error) {
	return nil, "", errRefused
}
