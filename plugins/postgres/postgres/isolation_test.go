package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestTheDriverSetsItsOwnIsolation(t *testing.T) { // R03
	for _, level := range []string{"read committed", "repeatable read", "serializable"} {
		for _, cached := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, session settings %v", level, cached), func(t *testing.T) {
				dsn := postgrestest.Database(t)
				name := ask[string](t, dsn, "select current_database()::text")[0]
				sql(t, dsn, fmt.Sprintf("alter database %s set default_transaction_isolation = '%s'", name, level),
					fmt.Sprintf("alter database %s set default_transaction_read_only = on", name),
					fmt.Sprintf("alter database %s set synchronous_commit = off", name))
				o := postgres.Options{DSN: dsn, NoStatementCache: !cached}
				if !cached {
					// Behind a pooler that is the database's business.
					sql(t, dsn+" options='-c default_transaction_read_only=off'", fmt.Sprintf("alter database %s reset default_transaction_read_only", name))
				}
				fiftyWriters(t, o)
				if cached {
					passes(t, target("r03", o), conformance.Selection{IDs: []string{"B11", "B27", "B80", "B81", "B82", "E10", "M06"}, Parallel: 3})
				} else {
					passes(t, target("r03", o), conformance.Selection{IDs: []string{"B11", "B75", "B82", "M06"}, Parallel: 2})
				}
			})
		}
	}
}

// fiftyWriters write through two drivers at once: nobody hears of a collision,
// and the numbers have no holes.
func fiftyWriters(t *testing.T, o postgres.Options) {
	const writers, commits = 50, 6
	drivers := []storage.Driver{connect(t, o), connect(t, o)}
	stores := []storage.Store{open(t, drivers[0], "w"), open(t, drivers[1], "w")}
	var all sync.WaitGroup
	var mu sync.Mutex
	numbers := map[int64]bool{}
	for w := range writers {
		all.Go(func() {
			for i := range commits {
				c := commitOf(storage.PatchUser{UserID: fmt.Sprint("u", (w+i)%7), Active: new(bool)},
					storage.InsertGrant{Grant: grant(fmt.Sprintf("g%d-%d", w, i), "user:u")},
					storage.UpsertRole{Role: authz.Role{ID: fmt.Sprint("r", (w*i)%3)}})
				c.Events = []authz.Event{authz.UserEvent("u")}
				result, err := stores[w%2].Commit(context.Background(), c)
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				mu.Lock()
				numbers[result.UpTo.Seq] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if head := must[authz.Position](t)(stores[0].Head(t.Context())); head.Seq != writers*commits || len(numbers) != writers*commits {
		t.Errorf("head %s, %d numbers, want %d", head, len(numbers), writers*commits)
	}
	page := must[storage.EventPage](t)(stores[1].EventsSince(t.Context(), authz.Position{}, 1000))
	if page.UpTo.Seq != writers*commits {
		t.Errorf("the log ends at %s", page.UpTo)
	}
}

func TestSessionsAreDurableWhateverTheServerDefaults(t *testing.T) {
	dsn := postgrestest.Database(t)
	name := ask[string](t, dsn, "select current_database()::text")[0]
	sql(t, dsn, fmt.Sprintf("alter database %s set synchronous_commit = off", name))
	for _, cached := range []bool{true, false} {
		spy := &settingSpy{}
		d := connect(t, postgres.Traced(postgres.Options{DSN: dsn, NoStatementCache: !cached}, spy))
		write(t, open(t, d, fmt.Sprint("p", cached)), storage.InsertGrant{Grant: grant("1", "user:u")})
		if !cached && !spy.saw("set local synchronous_commit = on") {
			t.Error("a transaction behind a pooler did not set its durability")
		}
		if setting := spy.session(); cached && setting != "on" {
			t.Errorf("synchronous_commit is %q", setting)
		}
	}
}
