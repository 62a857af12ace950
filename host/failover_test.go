package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
)

// A standby that lacked the newest events is promoted, and the new primary gives their
// numbers to others. Hosts that had seen the old ones hold positions that look right.
func TestHostsFindOutThatAFailoverLostEvents(t *testing.T) {
	postgrestest.Require(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first, err := postgrestest.Start(ctx, postgrestest.Options{})
	do(err)
	defer first.Close()
	second, err := first.Standby(ctx)
	do(err)
	defer second.Close()
	buildPlugin(t, "postgres")
	open := func(standby string) *host.Host {
		cfg := configure(t, "")
		edit(cfg, func(p *config.Plugin) {
			p.Plugin, p.Config = "postgres", config.NewSettings(map[string]any{"dsn": fmt.Sprintf(
				"host=127.0.0.1,%s port=%d,%d user=postgres password=%s dbname=postgres sslmode=disable connect_timeout=2",
				standby, first.Port, second.Port, first.Password)})
		})
		h, _ := open(t, cfg)
		return h
	}
	asks := func(user string) object { return object{"principal": object{"userId": user}, "key": "docs.files.read"} }
	grant := func(h *host.Host, user string) {
		t.Helper()
		call(t, caller(h), "createGrant", object{"input": object{"subject": "user:" + user, "pattern": "docs.files.read", "provenance": root}})
	}
	away := filepath.Join(t.TempDir(), "away") // where these hosts look for the standby; it is made below
	hosts := []*host.Host{open(away), open(away)}
	grant(hosts[0], "ann")
	do(second.CaughtUp(ctx, first))
	do(second.Detach(ctx))
	grant(hosts[0], "bob") // the tail that the standby lacks
	grant(hosts[0], "cid")
	for _, h := range hosts {
		eventually(t, "the host knows of the tail", func() bool { return call(t, caller(h), "check", asks("cid"))["allowed"] == true })
		if call(t, caller(h), "check", asks("ann"))["allowed"] != true {
			t.Fatal("ann may not read to begin with")
		}
	}
	head := func(h *host.Host) float64 { return call(t, caller(h), "epoch.head", nil)["seq"].(float64) }
	tail := head(hosts[0])
	do(first.Kill())
	do(second.Promote(ctx))

	late := open("127.0.0.1")
	call(t, caller(late), "createRevoke", object{"input": object{"userId": "ann", "pattern": "docs.files.read", "provenance": root}})
	acknowledged := time.Now()
	grant(late, "dan")
	for i := 0; head(late) < tail; i++ { // the numbers of the tail are used up: heads are equal
		grant(late, fmt.Sprint("eve", i))
	}
	// A host that reads the log earlier finds the head behind, and tells the others by that.
	do(os.Symlink(filepath.Dir(second.Socket()), away))
	for i, h := range hosts {
		var stale time.Time
		eventually(t, "the host finds the content lost", func() bool {
			var answer struct{ Allowed bool }
			err := caller(h).Call(ctx, "check", asks("ann"), &answer)
			if err == nil && answer.Allowed {
				stale = time.Now()
			}
			var outage *authz.UnavailableError
			return errors.As(err, &outage) && lost(t, h)
		})
		if age := stale.Sub(acknowledged); age > 10*time.Second {
			t.Errorf("host %d allowed what was revoked %v before", i, age)
		} else if !stale.IsZero() {
			t.Logf("host %d allowed what was revoked %v before, within the bound of a log that cannot be read", i, age)
		}
	}
	eventually(t, "the host that saw nothing of it learns by the incarnation", func() bool { return lost(t, late) })
	for _, h := range append(hosts, late) {
		if h.Ready() {
			t.Error("a host over a lost store calls itself ready")
		}
		do(localCaller(h).Call(ctx, "_host/storage.accept", object{"app": "docs"}, nil))
		for user, want := range map[string]bool{"ann": false, "bob": false, "cid": false, "dan": true} {
			eventually(t, user+" is answered from what there is", func() bool {
				var answer struct{ Allowed bool }
				return caller(h).Call(ctx, "check", asks(user), &answer) == nil && answer.Allowed == want
			})
		}
	}
}

// lost reports what storage.status says of the only store.
func lost(t *testing.T, h *host.Host) bool {
	t.Helper()
	var status struct{ Stores []struct{ Lost bool } }
	return localCaller(h).Call(t.Context(), "_host/storage.status", nil, &status) == nil && status.Stores[0].Lost
}
