package layout

import (
	"bytes"
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Doc is a document to write: its key, and its members without _id and app.
type Doc struct {
	Key     any
	Members bson.D
}

func (c *Collection) document(d Doc) bson.D {
	out := make(bson.D, 0, len(d.Members)+2)
	out = append(out, bson.E{Key: "_id", Value: c.ID(d.Key)})
	if c.rows() {
		out = append(out, bson.E{Key: "app", Value: c.partition.app})
	}
	return append(out, d.Members...)
}

// Row is a document that was read.
type Row struct {
	id  bson.RawValue
	raw bson.Raw
}

func (c *Collection) row(raw bson.Raw) Row {
	if c.rows() {
		return Row{raw.Lookup("_id", "id"), raw}
	}
	return Row{raw.Lookup("_id"), raw}
}

// Text is the key of a document that has a string for one, else "".
func (r Row) Text() string {
	s, _ := r.id.StringValueOK()
	return s
}

// Number is the key of a document that has a number for one, else 0.
func (r Row) Number() int64 {
	n, _ := r.id.AsInt64OK()
	return n
}

// Decode reads the members into a struct.
func (r Row) Decode(v any) error { return bson.Unmarshal(r.raw, v) }

// Size is the length of the document in bytes.
func (r Row) Size() int { return len(r.raw) }

// Page bounds and orders what Find returns. Limit and Bytes 0 are no limits; Only
// names the members to return, nil all.
type Page struct {
	Sort               bson.D
	Skip, Limit, Bytes int64
	Only               []string
}

// Find returns the selected documents. It ends before one that would go beyond
// Bytes, unless that is the first, and then says that it cut. No cursor stays open.
func (c *Collection) Find(ctx context.Context, f Filter, p Page) (rows []Row, cut bool, err error) {
	if err := c.own(f); err != nil {
		return nil, false, err
	}
	o := options.Find()
	if p.Sort != nil {
		o.SetSort(p.Sort)
	}
	if p.Skip > 0 {
		o.SetSkip(p.Skip)
	}
	if p.Limit > 0 {
		o.SetLimit(p.Limit).SetBatchSize(int32(min(p.Limit, 10_000)))
	}
	if p.Only != nil {
		only := bson.D{{Key: "_id", Value: 1}}
		for _, member := range p.Only {
			only = append(only, bson.E{Key: member, Value: 1})
		}
		o.SetProjection(only)
	}
	cursor, err := c.c.Find(ctx, f.members, o)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer done()
		_ = cursor.Close(ctx) // the server ends one that it does not hear of
	}()
	for size := int64(0); cursor.Next(ctx); {
		size += int64(len(cursor.Current))
		if p.Bytes > 0 && size > p.Bytes && len(rows) > 0 {
			return rows, true, nil
		}
		rows = append(rows, c.row(bytes.Clone(cursor.Current))) // Current is good until the next one only
	}
	return rows, false, cursor.Err()
}

// closeWait bounds the ending of a cursor that was not read to its end.
const closeWait = time.Second

// One returns the selected document.
func (c *Collection) One(ctx context.Context, f Filter) (Row, bool, error) {
	if err := c.own(f); err != nil {
		return Row{}, false, err
	}
	return c.found(c.c.FindOne(ctx, f.members).Raw())
}

func (c *Collection) found(raw bson.Raw, err error) (Row, bool, error) {
	if errors.Is(err, mongodriver.ErrNoDocuments) {
		return Row{}, false, nil
	}
	if err != nil {
		return Row{}, false, err
	}
	return c.row(raw), true, nil
}

// Count counts the selected documents in the database.
func (c *Collection) Count(ctx context.Context, f Filter) (int64, error) {
	if err := c.own(f); err != nil {
		return 0, err
	}
	return c.c.CountDocuments(ctx, f.members)
}

// Insert writes new documents and returns the positions of those whose key was
// taken; all others are written.
func (c *Collection) Insert(ctx context.Context, docs ...Doc) (taken []int, err error) {
	out := make([]any, len(docs))
	for i, d := range docs {
		out[i] = c.document(d)
	}
	_, err = c.c.InsertMany(ctx, out, options.InsertMany().SetOrdered(false))
	return duplicates(err)
}

// Replacement writes Doc over the document that Where selects, which is one by
// its key. With Create it writes also where no document has the key; one that
// has it and is not selected is left alone.
type Replacement struct {
	Where  Filter
	Doc    Doc
	Create bool
}

// Replace carries out replacements, each on its own.
func (c *Collection) Replace(ctx context.Context, all ...Replacement) error {
	models := make([]mongodriver.WriteModel, len(all))
	for i, r := range all {
		if err := c.own(r.Where); err != nil {
			return err
		}
		models[i] = mongodriver.NewReplaceOneModel().SetFilter(r.Where.members).SetReplacement(c.document(r.Doc)).SetUpsert(r.Create)
	}
	_, err := c.c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	_, err = duplicates(err)
	return err
}

// Update changes members of the selected document and reports whether one was
// selected.
func (c *Collection) Update(ctx context.Context, f Filter, change bson.D) (bool, error) {
	if err := c.own(f); err != nil {
		return false, err
	}
	r, err := c.c.UpdateOne(ctx, f.members, change)
	if err != nil {
		return false, err
	}
	return r.MatchedCount > 0, nil
}

// Raise changes the document with the key if it has the members, creates it when
// no document has the key, and else leaves it alone.
func (c *Collection) Raise(ctx context.Context, key any, members bson.D, change, created bson.D) error {
	if c.rows() {
		created = append(bson.D{{Key: "app", Value: c.partition.app}}, created...)
	}
	update := bson.D{{Key: "$set", Value: change}, {Key: "$setOnInsert", Value: created}}
	_, err := c.c.UpdateOne(ctx, c.Key(key, members...).members, update, options.UpdateOne().SetUpsert(true))
	if mongodriver.IsDuplicateKeyError(err) && !uncertain(err) {
		return nil
	}
	return err
}

// UpdateAll changes members of every selected document.
func (c *Collection) UpdateAll(ctx context.Context, f Filter, change bson.D) error {
	if err := c.own(f); err != nil {
		return err
	}
	_, err := c.c.UpdateMany(ctx, f.members, change)
	return err
}

// Take changes the selected document and returns it as it was before.
func (c *Collection) Take(ctx context.Context, f Filter, change bson.D) (before Row, found bool, err error) {
	if err := c.own(f); err != nil {
		return Row{}, false, err
	}
	o := options.FindOneAndUpdate().SetReturnDocument(options.Before)
	return c.found(c.c.FindOneAndUpdate(ctx, f.members, change, o).Raw())
}

// Delete removes the selected documents and returns how many there were.
func (c *Collection) Delete(ctx context.Context, f Filter) (int64, error) {
	if err := c.own(f); err != nil {
		return 0, err
	}
	r, err := c.c.DeleteMany(ctx, f.members)
	if err != nil {
		return 0, err
	}
	return r.DeletedCount, nil
}

// duplicates separates keys that were taken from every other error.
func duplicates(err error) (taken []int, _ error) {
	var bulk mongodriver.BulkWriteException
	if !errors.As(err, &bulk) || bulk.WriteConcernError != nil {
		return nil, err
	}
	for _, e := range bulk.WriteErrors {
		if !mongodriver.IsDuplicateKeyError(e.WriteError) {
			return nil, err
		}
		taken = append(taken, e.Index)
	}
	return taken, nil
}

// uncertain reports that the write may not have reached a majority.
func uncertain(err error) bool {
	var e mongodriver.WriteException
	return errors.As(err, &e) && e.WriteConcernError != nil
}

// Member is a member that is text, "" when absent.
func (r Row) Member(name string) string {
	v, _ := r.raw.Lookup(name).StringValueOK()
	return v
}

// Flag is a boolean member, false when absent.
func (r Row) Flag(name string) bool {
	v, _ := r.raw.Lookup(name).BooleanOK()
	return v
}
