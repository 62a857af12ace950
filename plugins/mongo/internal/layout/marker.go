package layout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Refusals of Open.
var (
	ErrOtherLayout  = errors.New("the database holds the other layout")
	ErrNewerVersion = errors.New("the partition was written by a newer version")
)

// Marker is the document that says how a partition is laid out.
type Marker struct {
	Layout      Kind   `bson:"layout"`
	Version     int64  `bson:"version"`
	Incarnation string `bson:"incarnation"`
}

// markerKey is the marker's key in Meta.
const markerKey = 1

// Open returns a partition with its marker, which the first opening writes with
// the given incarnation. A database in the other layout is ErrOtherLayout. Two
// first openings in different layouts at once never both succeed: each writes its
// marker, looks for the other's, and takes its own back.
func (d *Database) Open(ctx context.Context, app, incarnation string) (*Partition, Marker, error) {
	p := d.partition(app)
	m, found, err := p.Marker(ctx)
	if err != nil {
		return nil, Marker{}, err
	}
	if !found {
		if other, err := d.holdsOther(ctx); err != nil || other {
			return nil, Marker{}, refusal(err)
		}
		if m, err = p.mark(ctx, incarnation); err != nil {
			return nil, Marker{}, err
		}
	}
	switch {
	case m.Layout != d.kind:
		return nil, Marker{}, ErrOtherLayout
	case m.Version > Version:
		return nil, Marker{}, fmt.Errorf("%w: %d", ErrNewerVersion, m.Version)
	}
	return p, m, nil
}

func refusal(err error) error {
	if err != nil {
		return err
	}
	return ErrOtherLayout
}

// Marker reads the marker.
func (p *Partition) Marker(ctx context.Context) (m Marker, found bool, err error) {
	meta := p.Collection(Meta)
	row, found, err := meta.One(ctx, meta.Key(markerKey))
	if err != nil || !found {
		return m, false, err
	}
	return m, true, row.Decode(&m)
}

// mark writes the marker, or finds the one that somebody wrote just before.
func (p *Partition) mark(ctx context.Context, incarnation string) (Marker, error) {
	meta, own := p.Collection(Meta), Marker{p.database.kind, Version, incarnation}
	taken, err := meta.Insert(ctx, Doc{markerKey, bson.D{
		{Key: "layout", Value: own.Layout}, {Key: "version", Value: own.Version}, {Key: "incarnation", Value: own.Incarnation}}})
	if err != nil {
		return own, err
	}
	if len(taken) > 0 {
		m, found, err := p.Marker(ctx)
		if err == nil && !found {
			err = errors.New("the marker vanished")
		}
		return m, err
	}
	if other, err := p.database.holdsOther(ctx); err != nil || other {
		_, undo := meta.Delete(ctx, meta.Key(markerKey, bson.E{Key: "incarnation", Value: incarnation}))
		return own, errors.Join(refusal(err), undo)
	}
	return own, nil
}

// holdsOther looks for the other layout. A deployment without a marker is in
// collections when any collection of that layout exists.
func (d *Database) holdsOther(ctx context.Context) (bool, error) {
	shared := d.db.Collection(string(Meta))
	inRows, err := shared.CountDocuments(ctx, bson.D{{Key: "app", Value: bson.D{{Key: "$exists", Value: true}}}})
	if err != nil || d.kind == Collections {
		return inRows > 0, err
	}
	unpartitioned, err := shared.CountDocuments(ctx, bson.D{{Key: "_id", Value: markerKey}})
	if err != nil || unpartitioned > 0 {
		return unpartitioned > 0, err
	}
	stored, err := d.db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return false, err
	}
	for _, name := range stored {
		if i := strings.LastIndexByte(name, '_'); i > 0 && slices.Contains(Names, Name(name[i+1:])) {
			return true, nil
		}
	}
	// A collection without a prefix belongs to either; only rows have markers
	// in a database that already knows the layout.
	if inRows > 0 {
		return false, nil
	}
	for _, name := range stored {
		if slices.Contains(Names, Name(name)) && Name(name) != Meta {
			return true, nil
		}
	}
	return false, nil
}
