package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

func TestAConfigurationThatCannotWorkNamesItsSetting(t *testing.T) {
	cluster := postgrestest.SharedCluster(t)
	good := cluster.TCP("postgres")
	for name, c := range map[string]struct {
		field  string
		config map[string]any
	}{
		"malformed":   {"dsn", map[string]any{"dsn": "postgres://u:hunter2@host:port:port/x"}},
		"no words":    {"dsn", map[string]any{"dsn": "hunter2"}},
		"password":    {"dsn", map[string]any{"dsn": strings.Replace(good, cluster.Password, "hunter2", 1)}},
		"user":        {"dsn", map[string]any{"dsn": strings.Replace(good, "//postgres:", "//hunter2:", 1)}},
		"database":    {"dsn", map[string]any{"dsn": cluster.TCP("hunter2")}},
		"lock":        {"lock", map[string]any{"dsn": good, "lock": "advisory"}},
		"lease":       {"lease", map[string]any{"dsn": good, "lease": -time.Second}},
		"short lease": {"lease", map[string]any{"dsn": good, "lease": time.Millisecond}},
		"connections": {"max_connections", map[string]any{"dsn": good, "max_connections": int64(1)}},
		"many":        {"max_connections", map[string]any{"dsn": good, "max_connections": int64(1) << 40}},
		"schema":      {"schema", map[string]any{"dsn": good, "schema": strings.Repeat("s", 64)}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.config["lease"] == nil {
				c.config["lease"] = storage.DefaultLease
			}
			d, err := postgres.Configure(t.Context(), c.config)
			if err == nil {
				_ = d.Close()
			}
			if asked := postgres.Plugin("").Check(c.config); name != "password" && name != "user" && name != "database" && fmt.Sprint(asked) != fmt.Sprint(err) {
				t.Errorf("asked it said %v, configured %v", asked, err)
			}
			var refused *plugin.ConfigError
			if !errors.As(err, &refused) || refused.Field != c.field {
				t.Fatalf("answered %v, want a refusal of %s", err, c.field)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), cluster.Password) {
				t.Errorf("%v repeats a value", err)
			}
		})
	}
}

func TestAServerThatIsDownAtTheStartIsNamedWithoutSecrets(t *testing.T) {
	_, err := postgres.Configure(t.Context(), map[string]any{"dsn": "postgres://u:hunter2@127.0.0.1:1/x?sslmode=disable", "lease": time.Second})
	var ours *storage.Error
	if !errors.As(err, &ours) || ours.Code != storage.CodeUnavailable || ours.Outcome != authz.OutcomeNotApplied {
		t.Fatalf("answered %v", err)
	}
	if !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error reads %q", err)
	}
}

func TestNoConnectionStringLetsAStandbyAnswer(t *testing.T) {
	dsn := postgrestest.Database(t)
	for _, attrs := range []string{"any", "standby", "prefer-standby", "read-only"} {
		s := open(t, connect(t, postgres.Options{DSN: dsn + " target_session_attrs=" + attrs}), "p")
		write(t, s, storage.UpsertRole{Role: authz.Role{ID: attrs}})
	}
}

func TestADriverKeepsItsTablesInTheSchemaConfigured(t *testing.T) {
	dsn := postgrestest.Database(t)
	const odd = `a "b"; c`
	s := open(t, connect(t, postgres.Options{DSN: dsn, Schema: odd}), "p")
	write(t, s, storage.InsertGrant{Grant: grant("1", "user:u")})
	other := open(t, connect(t, postgres.Options{DSN: dsn}), "p")
	if n := must[int64](t)(other.CountGrants(t.Context(), storage.GrantFilter{})); n != 0 {
		t.Errorf("another schema shows %d grants", n)
	}
	again := open(t, connect(t, postgres.Options{DSN: dsn, Schema: odd}), "p")
	if n := must[int64](t)(again.CountGrants(t.Context(), storage.GrantFilter{})); n != 1 {
		t.Errorf("the same schema shows %d grants", n)
	}
}

func TestTheSchemaOfTheSettingsIsConsistent(t *testing.T) {
	p := postgres.Plugin("1.2.3")
	if p.Name != "postgres" || p.Version != "1.2.3" || !storage.Capabilities(p.Storage.Capabilities).Has(storage.CapWatch) {
		t.Errorf("%+v", p)
	}
	for _, s := range p.ConfigSchema {
		if s.Secret != (s.Name == "dsn") || s.Description == "" {
			t.Errorf("%+v", s)
		}
	}
}
