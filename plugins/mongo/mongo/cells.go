package mongo

import (
	"context"
	"slices"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	// loadKeys is how many keys one query of judging asks for.
	loadKeys = 5000

	// maxLoaded bounds what judging one commit reads into memory.
	maxLoaded = 256 << 20
)

// cell is one row that a commit touches. stored says whether a document has the
// key, be it a stone.
type cell[V any] struct {
	stored  bool
	before  *V // nil: no row
	now     *V
	touched bool
}

func (c *cell[V]) put(v V) { c.now, c.touched = &v, true }

func (c *cell[V]) remove() { c.now, c.touched = nil, true }

// kind is how the row is written; false: not at all.
func (c *cell[V]) kind() (opKind, bool) {
	switch {
	case !c.touched || c.now == nil && c.before == nil:
		return 0, false
	case c.now == nil:
		return opGone, true
	case c.stored:
		return opOver, true
	default:
		return opNew, true
	}
}

// cells are the rows of one entity that a commit touches, in the order in which
// it names them.
type cells[V any] struct {
	entity entity[V]
	byKey  map[string]*cell[V]
	order  []string
}

func cellsOf[V any](e entity[V]) cells[V] { return cells[V]{entity: e, byKey: map[string]*cell[V]{}} }

// want names a row.
func (c *cells[V]) want(key string) {
	if c.byKey[key] == nil {
		c.byKey[key] = &cell[V]{}
		c.order = append(c.order, key)
	}
}

// at is a row that was wanted before the load.
func (c *cells[V]) at(key string) *cell[V] { return c.byKey[key] }

// insert needs the key to be free.
func (c *cells[V]) insert(v V) error {
	cell := c.at(c.entity.key(v))
	if cell.now != nil {
		return seam.Taken(c.entity.what, c.entity.key(v))
	}
	cell.put(v)
	return nil
}

// remove returns the row, nil for none.
func (c *cells[V]) remove(key string, mustExist bool) (*V, error) {
	cell := c.at(key)
	row := cell.now
	if row == nil && mustExist {
		return nil, seam.Absent(c.entity.what, key)
	}
	if row != nil {
		cell.remove()
	}
	return row, nil
}

// load reads the rows that were named.
func (c *cells[V]) load(ctx context.Context, p *partition, loaded *atomic.Int64) error {
	in := p.in(c.entity.in)
	for keys := range slices.Chunk(c.order, loadKeys) {
		rows, cut, err := in.Find(ctx, layout.Keys(in, keys), layout.Page{Bytes: max(1, maxLoaded-loaded.Load())})
		if err != nil {
			return failed(err)
		}
		for _, row := range rows {
			if loaded.Add(int64(row.Size())) > maxLoaded || cut {
				return storage.Errorf(storage.CodeTooLarge, "the commit touches more than %d bytes of rows", maxLoaded)
			}
			cell := c.byKey[row.Text()]
			if cell == nil {
				continue
			}
			if cell.stored = true; row.Flag("gone") {
				continue
			}
			v, err := c.entity.from(row)
			if err != nil {
				return failed(err)
			}
			cell.before, cell.now = &v, &v
		}
	}
	return nil
}

// emit adds the rows that are written in one of the ways.
func (c *cells[V]) emit(b *batch, kinds ...opKind) error {
	for _, want := range kinds {
		for _, key := range c.order {
			cell := c.byKey[key]
			kind, written := cell.kind()
			if !written || kind != want {
				continue
			}
			var members bson.D
			if kind != opGone {
				var err error
				if members, err = c.entity.to(*cell.now); err != nil {
					return failed(err)
				}
			}
			if err := b.add(c.entity.in, key, kind, members); err != nil {
				return failed(err)
			}
		}
	}
	return nil
}
