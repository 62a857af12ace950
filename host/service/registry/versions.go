package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/pieces"
	"github.com/authzhost/authz/sdk/authz"
)

// head is the newest version of a namespace; Keys and Tombstones are counts.
type head struct {
	Version     int64  `json:"version"`
	PublishedAt int64  `json:"publishedAt"`
	Sum         string `json:"sum"`
	Publication string `json:"publication"` // the id that made it
	Keys        int    `json:"keys"`
	Tombstones  int    `json:"tombstones"`
}

// version is kept for good. What it changed stands in the record, or in pieces
// when it is too long for one. Standing is a standing; without one, which was too
// long or not yet kept, the versions before it tell.
type version struct {
	Namespace   string      `json:"namespace"`
	Version     int64       `json:"version"`
	PublishedAt int64       `json:"publishedAt"`
	Publisher   string      `json:"publisher"`
	Sum         string      `json:"sum"`
	Document    pieces.Ref  `json:"document"`
	Change      *change     `json:"change,omitempty"`
	LongChange  *pieces.Ref `json:"longChange,omitempty"`
	Standing    *pieces.Ref `json:"standing,omitempty"`
}

// change is what a version did to the keys of its namespace, each list ascending.
type change struct {
	Added      []string `json:"added"`
	Revived    []string `json:"revived"`
	Tombstoned []string `json:"tombstoned"`
}

// standing is what a namespace has after a version, each list ascending.
type standing struct {
	Keys       []string    `json:"keys"`
	Tombstones []Tombstone `json:"tombstones"`
}

var (
	heads    = account.Collection[head]{Name: "catalogs"}
	versions = account.Collection[version]{Name: "catalog_versions", Key: func(v version) string { return sumKey(v.Namespace, v.Sum) }}
)

func sumKey(namespace, sum string) string { return namespace + "@" + sum }

// versionID sorts the versions of a namespace by number. No namespace holds "/".
func versionID(namespace string, n int64) string { return fmt.Sprintf("%s/%012d", namespace, n) }

// maxInline is how many bytes a change may take up in its version's record.
const maxInline = 256 << 10

// keep puts the change where there is room for it.
func (v *version) keep(tx *account.Tx, org, id string, c change) error {
	raw, err := authz.Marshal(c)
	if err != nil {
		return fault.Internal(err)
	}
	if len(raw) <= maxInline {
		v.Change = &c
		return nil
	}
	ref := pieces.Put(tx, org, id, raw)
	v.LongChange = &ref
	return nil
}

// maxStanding is how many bytes the standings of a publish may take up: tombstones
// only grow, and its commit must hold them beside the document.
const maxStanding = 8 << 20

// keepStanding saves whoever publishes next the versions before this one, where there
// is room.
func (v *version) keepStanding(tx *account.Tx, org, id string, h history, room *int) error {
	raw, err := authz.Marshal(standing{slices.Sorted(maps.Keys(h.keys)), h.buried()})
	if err != nil {
		return fault.Internal(err)
	}
	if len(raw) <= *room {
		*room -= len(raw)
		ref := pieces.Put(tx, org, id, raw)
		v.Standing = &ref
	}
	return nil
}

func (v *version) changed(ctx context.Context, s *account.Store, org string) (change, error) {
	if v.LongChange == nil {
		if v.Change == nil {
			return change{}, fault.Internal(fmt.Errorf("version %d of %s has no change", v.Version, v.Namespace))
		}
		return *v.Change, nil
	}
	raw, err := pieces.Get(ctx, s, org, *v.LongChange)
	if err != nil {
		return change{}, err
	}
	var c change
	if err := json.Unmarshal(raw, &c); err != nil {
		return change{}, fault.Internal(err)
	}
	return c, nil
}

// Tombstone is a key of an earlier version that the head lacks. LastVersion is
// the last that had it, TombstonedVersion the first that had not.
type Tombstone struct {
	Key               string `json:"key"`
	LastVersion       int64  `json:"lastVersion"`
	TombstonedVersion int64  `json:"tombstonedVersion"`
	TombstonedAt      int64  `json:"tombstonedAt"`
}

// history is a namespace from its first version to one of them.
type history struct {
	versions   []Version // none when it was read by standing
	keys       map[string]bool
	tombstones map[string]Tombstone
}

// standing is history without the versions, of which it reads the one given.
func (r *Registry) standing(ctx context.Context, org, namespace string, at int64) (history, error) {
	h := history{keys: map[string]bool{}, tombstones: map[string]Tombstone{}}
	if at == 0 {
		return h, nil
	}
	row, found, err := versions.Get(ctx, r.store, org, versionID(namespace, at))
	switch {
	case err != nil:
		return history{}, err
	case !found:
		return history{}, fault.Internal(fmt.Errorf("version %d of %s is missing", at, namespace))
	case row.Value.Standing == nil:
		h, err := r.history(ctx, org, namespace, at)
		h.versions = nil
		return h, err
	}
	raw, err := pieces.Get(ctx, r.store, org, *row.Value.Standing)
	if err != nil {
		return history{}, err
	}
	var kept standing
	if err := json.Unmarshal(raw, &kept); err != nil {
		return history{}, fault.Internal(err)
	}
	for _, key := range kept.Keys {
		h.keys[key] = true
	}
	for _, t := range kept.Tombstones {
		h.tombstones[t.Key] = t
	}
	return h, nil
}

// history reads every version of a namespace up to the given one; a newer one
// that is being published is not part of it.
func (r *Registry) history(ctx context.Context, org, namespace string, upTo int64) (history, error) {
	h := history{keys: map[string]bool{}, tombstones: map[string]Tombstone{}}
	if upTo == 0 {
		return h, nil
	}
	for row, err := range versions.Page(ctx, r.store, org, versionID(namespace, 0), int(upTo)) {
		if err != nil {
			return history{}, err
		}
		v := row.Value
		if v.Namespace != namespace || v.Version > upTo {
			break
		}
		c, err := v.changed(ctx, r.store, org)
		if err != nil {
			return history{}, err
		}
		h.apply(v, c)
	}
	if int64(len(h.versions)) != upTo {
		return history{}, fault.Internal(fmt.Errorf("%s has %d versions of %d", namespace, len(h.versions), upTo))
	}
	return h, nil
}

func (h *history) apply(v version, c change) {
	added := slices.Concat(c.Added, c.Revived)
	slices.Sort(added)
	for _, key := range added {
		h.keys[key] = true
		delete(h.tombstones, key)
	}
	for _, key := range c.Tombstoned {
		delete(h.keys, key)
		h.tombstones[key] = Tombstone{key, v.Version - 1, v.Version, v.PublishedAt}
	}
	h.versions = append(h.versions, Version{v.Version, v.PublishedAt, v.Publisher, list(added), list(c.Tombstoned)})
}

// next is what a version with these keys, ascending, would change.
func (h *history) next(keys []string) change {
	c := change{Added: []string{}, Revived: []string{}, Tombstoned: []string{}}
	there := make(map[string]bool, len(keys))
	for _, key := range keys {
		there[key] = true
		if _, dead := h.tombstones[key]; dead {
			c.Revived = append(c.Revived, key)
		} else if !h.keys[key] {
			c.Added = append(c.Added, key)
		}
	}
	for key := range h.keys {
		if !there[key] {
			c.Tombstoned = append(c.Tombstoned, key)
		}
	}
	slices.Sort(c.Tombstoned)
	return c
}

func (h *history) buried() []Tombstone {
	list := make([]Tombstone, 0, len(h.tombstones))
	for _, t := range h.tombstones {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Tombstone) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// list is never null in JSON.
func list[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}
