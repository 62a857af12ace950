package kv

import (
	"encoding/json"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// table keeps rows as JSON under entity/key, and for each value that a row is
// found by an entry entity.index/value NUL key. No text holds a NUL, so that
// the entries of a value stand together, in the order of the keys.
type table[R any] struct {
	entity string
	key    func(*R) string
	found  func(*R) []string
}

// present is the value of an entry, of which only the key says anything.
var present = []byte{'+'}

// get returns nil for an absent row.
func (t table[R]) get(p *partition, key string) *R {
	row, _ := t.read(p, key)
	return row
}

// read is get with the bytes that the row is stored in.
func (t table[R]) read(p *partition, key string) (row *R, bytes int) {
	raw := p.get(t.entity + "/" + key)
	if raw != nil && p.err == nil {
		row = new(R)
		p.fail(json.Unmarshal(raw, row))
	}
	return row, len(raw)
}

// put writes a row over whatever stands under its key.
func (t table[R]) put(p *partition, row R) {
	t.remove(p, t.key(&row))
	raw, err := authz.Marshal(row)
	if p.fail(err); p.err == nil {
		p.writes[t.entity+"/"+t.key(&row)] = raw
		for _, entry := range t.entries(&row) {
			p.writes[entry] = present
		}
	}
}

// remove returns the row that it removed, or nil.
func (t table[R]) remove(p *partition, key string) *R {
	row := t.get(p, key)
	if row != nil && p.err == nil {
		p.writes[t.entity+"/"+key] = nil
		for _, entry := range t.entries(row) {
			p.writes[entry] = nil
		}
	}
	return row
}

func (t table[R]) entries(row *R) (entries []string) {
	if t.found != nil {
		for _, value := range t.found(row) {
			entries = append(entries, t.entity+"."+value+"\x00"+t.key(row))
		}
	}
	return entries
}

// keys yields the keys above after of all rows.
func (t table[R]) keys(p *partition, after string) iter.Seq[string] {
	return p.following(t.entity+"/", after)
}

// with yields the keys above after of the rows found by a value ("index/value").
func (t table[R]) with(p *partition, value, after string) iter.Seq[string] {
	return p.following(t.entity+"."+value+"\x00", after)
}

// inTime yields the keys of rows by instant, above and below a place.
func (t table[R]) inTime(p *partition, after, before string) iter.Seq[string] {
	return t.placed(p, ".at/", after, before)
}

// placed is inTime by an index of places.
func (t table[R]) placed(p *partition, index, after, before string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for place := range p.following(t.entity+index, after) {
			if place >= before || !yield(place[len(ordered(0))+1:]) {
				return
			}
		}
	}
}

// all yields the rows that stand under the keys, with the bytes they are stored in.
func (t table[R]) all(p *partition, keys iter.Seq[string]) iter.Seq2[*R, int] {
	return func(yield func(*R, int) bool) {
		for key := range keys {
			row, bytes := t.read(p, key)
			if p.fail(p.ctx.Err()); p.err != nil || row != nil && !yield(row, bytes) {
				return
			}
		}
	}
}
