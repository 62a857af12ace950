package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The entities: the key of a row, and the indexes and values it is found by.
var (
	grants = table[authz.Grant]{"grant", func(g *authz.Grant) string { return g.ID }, func(g *authz.Grant) []string {
		return []string{"subject/" + g.Subject, "scope/" + g.Scope, "role/" + g.RoleID}
	}}
	revokes = table[authz.Revoke]{"revoke", func(r *authz.Revoke) string { return r.ID },
		func(r *authz.Revoke) []string { return []string{"user/" + r.UserID} }}
	roles  = table[authz.Role]{"role", func(r *authz.Role) string { return r.ID }, nil}
	groups = table[authz.Group]{"group", func(g *authz.Group) string { return g.ID }, nil}
	users  = table[authz.User]{"user", func(u *authz.User) string { return u.UserID }, func(u *authz.User) (found []string) {
		for _, id := range u.GroupIDs {
			found = append(found, "group/"+id)
		}
		return found
	}}
	requests = table[authz.Request]{"request", func(r *authz.Request) string { return r.ID },
		func(r *authz.Request) []string { return []string{"at/" + ordered(r.CreatedAt)} }}
	audit = table[authz.AuditEntry]{"audit", func(e *authz.AuditEntry) string { return e.ID },
		func(e *authz.AuditEntry) []string { return []string{"at/" + ordered(e.At)} }}
	commits = table[applied]{"commit", func(c *applied) string { return c.ID },
		func(c *applied) []string { return []string{"at/" + ordered(c.At)} }}
	events  = table[event]{"event", func(e *event) string { return ordered(e.Seq) }, nil}
	records = table[storage.Record]{"record", func(r *storage.Record) string { return recordKey(r.Collection, r.ID) },
		func(r *storage.Record) []string {
			found := []string{recordValue(r.Collection, 0, "")}
			for i, key := range r.Keys {
				if key != "" {
					found = append(found, recordValue(r.Collection, i+1, key))
				}
			}
			return found
		}}
	scopes = table[scopeParents]{"scope", func(s *scopeParents) string { return s.Scope }, nil}
	fences = table[storage.Fence]{"fence", func(f *storage.Fence) string { return f.Key }, nil}
	heads  = table[head]{"head", func(h *head) string { return h.Name }, nil}
)

type (
	event struct {
		Seq, At int64
		Event   authz.Event
	}
	scopeParents struct {
		Scope   string
		Parents []string
	}
	// applied is what recognition keeps of a commit; At is the driver's clock.
	applied struct {
		ID, Digest string
		At         int64
		Result     storage.CommitResult
	}
	// head is a row of which there is one: "catalog", "imports", "log" (the newest
	// event), "pruned" (the mark) and "life" (layout and incarnation).
	head struct {
		Name     string
		Version  int64
		Document json.RawMessage `json:",omitempty"`
		Text     string          `json:",omitempty"`
	}
)

// table keeps rows as JSON under entity/key, and for each value that a row is
// found by an empty entry entity.index/value NUL key. No text holds a NUL, so that
// the entries of a value stand together, in the order of the keys.
type table[R any] struct {
	entity string
	key    func(*R) string
	found  func(*R) []string
}

// get returns nil for an absent row.
func (t table[R]) get(p *partition, key string) (row *R) {
	if raw := p.get(t.entity + "/" + key); raw != nil && p.err == nil {
		row = new(R)
		p.fail(json.Unmarshal(raw, row))
	}
	return row
}

// put writes a row over whatever stands under its key.
func (t table[R]) put(p *partition, row R) {
	t.remove(p, t.key(&row))
	raw, err := authz.Marshal(row)
	if p.fail(err); p.err == nil {
		p.writes[t.entity+"/"+t.key(&row)] = raw
		for _, entry := range t.entries(&row) {
			p.writes[entry] = []byte{}
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
	return func(yield func(string) bool) {
		for place := range p.following(t.entity+".at/", after) {
			if place >= before || !yield(place[len(ordered(0))+1:]) {
				return
			}
		}
	}
}

// following yields what follows a prefix in the keys that have it, above after.
func (p *partition) following(prefix, after string) iter.Seq[string] {
	return func(yield func(string) bool) {
		p.flush()
		c := p.bucket.Cursor()
		for k, _ := c.Seek([]byte(prefix + after)); bytes.HasPrefix(k, []byte(prefix)); k, _ = c.Next() {
			if rest := string(k[len(prefix):]); rest != after && !yield(rest) {
				return
			}
		}
	}
}

// all yields the rows that stand under the keys.
func (t table[R]) all(p *partition, keys iter.Seq[string]) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		for key := range keys {
			row := t.get(p, key)
			if p.fail(p.ctx.Err()); p.err != nil || row != nil && !yield(row) {
				return
			}
		}
	}
}

// end is above every place in time.
const end = "\xff"

// ordered spells an integer so that bytes compare as integers do; place is where a
// row stands in time.
func ordered(n int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(n)^1<<63))
}

// recordKey begins with the collection, so spelled that no other begins alike.
func recordKey(collection, id string) string {
	return strconv.Itoa(len(collection)) + "/" + collection + id
}

// recordValue is what a record is found by: an index string, or for 0 its
// collection.
func recordValue(collection string, index int, key string) string {
	return "key" + strconv.Itoa(index) + "/" + recordKey(collection, key)
}

func place(at int64, id string) string { return ordered(at) + "\x00" + id }
