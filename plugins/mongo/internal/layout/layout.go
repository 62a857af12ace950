package layout

import (
	"context"
	"errors"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Database is one database in one layout.
type Database struct {
	db   *mongodriver.Database
	kind Kind

	mu      sync.Mutex
	indexed map[string]bool // collections whose indexes this process has asked for
}

// New places the layout over a database. The client's concerns and preferences
// are the caller's business.
func New(db *mongodriver.Database, kind Kind) *Database {
	return &Database{db: db, kind: kind, indexed: map[string]bool{}}
}

// Partition is one slice of the database. Its zero value is of no use.
type Partition struct {
	database *Database
	app      string
	tables   map[Name]*Collection
}

func (d *Database) partition(app string) *Partition {
	p := &Partition{database: d, app: app, tables: map[Name]*Collection{}}
	for _, name := range Names {
		p.tables[name] = &Collection{partition: p, name: name, c: d.db.Collection(d.stored(app, name))}
	}
	return p
}

// stored is the name of a collection in the database.
func (d *Database) stored(app string, name Name) string {
	if d.kind == Rows || app == "" {
		return string(name)
	}
	return app + "_" + string(name)
}

// Collection returns a collection of the partition.
func (p *Partition) Collection(name Name) *Collection { return p.tables[name] }

// Collection is the documents of one partition in one collection.
type Collection struct {
	partition *Partition
	name      Name
	c         *mongodriver.Collection
}

func (c *Collection) rows() bool { return c.partition.database.kind == Rows }

// ID is what the key is in _id: for comparisons inside a filter.
func (c *Collection) ID(key any) any {
	if c.rows() {
		return bson.D{{Key: "app", Value: c.partition.app}, {Key: "id", Value: key}}
	}
	return key
}

// Filter selects documents of one partition in one collection. Only the methods
// of that Collection make one; a statement refuses every other.
type Filter struct {
	of      *Collection
	members bson.D
}

// Where selects the documents of the partition that have all the members.
func (c *Collection) Where(members ...bson.E) Filter {
	f := Filter{of: c, members: make(bson.D, 0, len(members)+1)}
	if c.rows() {
		f.members = append(f.members, bson.E{Key: "app", Value: c.partition.app})
	}
	f.members = append(f.members, members...)
	return f
}

// Key selects one document, if it has all the members too.
func (c *Collection) Key(key any, members ...bson.E) Filter {
	return Filter{of: c, members: append(bson.D{{Key: "_id", Value: c.ID(key)}}, members...)}
}

// Keys selects the documents with these keys that have all the members too.
func Keys[K any](c *Collection, keys []K, members ...bson.E) Filter {
	if len(keys) == 1 {
		return c.Key(keys[0], members...)
	}
	ids := make(bson.A, len(keys))
	for i, key := range keys {
		ids[i] = c.ID(key)
	}
	return Filter{of: c, members: append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, members...)}
}

// Above selects the documents whose key is above one.
func (c *Collection) Above(key any, members ...bson.E) Filter {
	return c.between(bson.D{{Key: "$gt", Value: c.ID(key)}}, nil, members)
}

// Between selects the documents whose key is above one and below another; nil
// is no upper end.
func (c *Collection) Between(above, below any, members ...bson.E) Filter {
	return c.between(bson.D{{Key: "$gt", Value: c.ID(above)}}, below, members)
}

// UpTo selects the documents whose key is not above one.
func (c *Collection) UpTo(key any, members ...bson.E) Filter {
	id := bson.D{{Key: "$lte", Value: c.ID(key)}}
	if c.rows() {
		id = append(id, bson.E{Key: "$gt", Value: bson.D{{Key: "app", Value: c.partition.app}}})
	}
	return c.Where(append([]bson.E{{Key: "_id", Value: id}}, members...)...)
}

// between keeps the range inside the partition also for the index: the key that
// ends it lies above every key of the partition and, because ! sorts before
// whatever a partition's name may hold, below every other partition.
func (c *Collection) between(id bson.D, below any, members []bson.E) Filter {
	switch {
	case below != nil:
		id = append(id, bson.E{Key: "$lt", Value: c.ID(below)})
	case c.rows():
		id = append(id, bson.E{Key: "$lt", Value: bson.D{{Key: "app", Value: c.partition.app + "!"}}})
	}
	return c.Where(append([]bson.E{{Key: "_id", Value: id}}, members...)...)
}

var errForeign = errors.New("the filter was made for another collection")

func (c *Collection) own(f Filter) error {
	if f.of != c {
		return errForeign
	}
	return nil
}

// Ready creates the collection's indexes, once in the life of the process.
func (c *Collection) Ready(ctx context.Context) error {
	d, stored := c.partition.database, c.c.Name()
	d.mu.Lock()
	done := d.indexed[stored]
	d.mu.Unlock()
	if done {
		return nil
	}
	missing, err := c.missingIndexes(ctx)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if _, err := c.c.Indexes().CreateMany(ctx, missing); err != nil && !sameIndex(err) {
			return err
		}
	}
	d.mu.Lock()
	d.indexed[stored] = true
	d.mu.Unlock()
	return nil
}

// missingIndexes leaves out what stands already: asking for it again would need
// rights that a running deployment need not have.
func (c *Collection) missingIndexes(ctx context.Context) ([]mongodriver.IndexModel, error) {
	wanted := indexes[c.name]
	if len(wanted) == 0 {
		return nil, nil
	}
	specifications, err := c.c.Indexes().ListSpecifications(ctx)
	if err != nil {
		return nil, err
	}
	standing := map[string]bool{}
	for _, s := range specifications {
		standing[s.Name] = true
	}
	var missing []mongodriver.IndexModel
	for _, x := range wanted {
		keys, names := bson.D{}, []string{}
		members := x.members
		if c.rows() {
			members = append([]string{"app"}, members...)
		}
		for _, member := range members {
			keys, names = append(keys, bson.E{Key: member, Value: 1}), append(names, member+"_1")
		}
		name := strings.Join(names, "_")
		if standing[name] {
			continue
		}
		o := options.Index().SetName(name)
		if x.sparse && !c.rows() {
			o.SetSparse(true)
		}
		missing = append(missing, mongodriver.IndexModel{Keys: keys, Options: o})
	}
	return missing, nil
}

// sameIndex reports that an index of that name or on those members stands
// already, made with other options by hand: it serves as well.
func sameIndex(err error) bool {
	const optionsConflict, keySpecsConflict = 85, 86
	var e mongodriver.CommandError
	return errors.As(err, &e) && (e.Code == optionsConflict || e.Code == keySpecsConflict)
}
