package kv

import (
	"context"
	"iter"
)

// Layout 2 has entries by which lookups read: grants by scope and subject, users by org
// and manager, scopes by parent. Layout 3 has requests by who filed them, layout 4 grants by
// when they were made and when they expire, layout 5 audit entries by their subjects and
// grants that are not at * by when they were made. Older data gets them when its partition
// is opened.
// The layout is raised first, so that no older driver writes rows without entries beside
// it; what is left to do stands in the head "migrating" until it is done.

// migrationRows and chunkBytes bound one transaction; the row that reaches the bytes is its
// last.
const migrationRows = 1000

func beginMigration(p *partition, life head) {
	if heads.get(p, "migrating") == nil { // else one that began before goes on
		heads.put(p, head{Name: "migrating", Version: migratedBy[life.Version]})
	}
	life.Version = layoutVersion
	heads.put(p, life)
}

// migratedBy is how many of the tables below have their entries in a layout.
var migratedBy = map[int64]int64{1: 0, 2: 3, 3: 5, 4: 5}

// migrated are the tables that got new entries. Each writes rows again, above a key, and
// returns the last one, "" at the end.
var migrated = []func(p *partition, after string) string{
	nothing, // of grants, which come last
	func(p *partition, after string) string { return rewrite(p, users, after) },
	func(p *partition, after string) string { return rewrite(p, scopes, after) },
	func(p *partition, after string) string { return rewrite(p, requests, after) },
	nothing, // of grants, whose entries of layout 4 are written with those of layout 5
	func(p *partition, after string) string { return rewrite(p, audit, after) },
	func(p *partition, after string) string { return rewrite(p, grants, after) },
}

// migrate goes on with a migration until it is done. One that ends before goes on when the
// partition is next opened.
func (s *store) migrate(ctx context.Context) error {
	for done := false; !done; {
		err := s.update(ctx, func(p *partition) {
			at := heads.get(p, "migrating")
			if at == nil {
				done = true
				return
			}
			if at.Text = migrated[at.Version](p, at.Text); at.Text == "" {
				at.Version++
			}
			if int(at.Version) == len(migrated) {
				heads.remove(p, "migrating")
				return
			}
			heads.put(p, *at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func nothing(*partition, string) string { return "" }

func rewrite[R any](p *partition, t table[R], after string) (last string) {
	keys, more := firstOf(t.keys(p, after), migrationRows)
	size := 0
	for i, key := range keys {
		row, bytes := t.read(p, key)
		if row != nil {
			t.put(p, *row)
		}
		if size += bytes; size >= chunkBytes && (more || i < len(keys)-1) {
			return key
		}
	}
	if !more {
		return ""
	}
	return keys[len(keys)-1]
}

// firstOf are the first n of some keys; more says that others follow.
func firstOf(keys iter.Seq[string], n int) (first []string, more bool) {
	for key := range keys {
		if len(first) == n {
			return first, true
		}
		first = append(first, key)
	}
	return first, false
}
