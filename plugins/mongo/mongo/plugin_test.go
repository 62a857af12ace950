package mongo

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

func TestConfigure(t *testing.T) {
	needServer(t)
	good := map[string]any{"uri": server.URI, "database": "d", "layout": "rows", "lease": time.Second, "watch_poll": time.Second}
	for _, c := range []struct {
		field string
		value any
	}{{"uri", "mongodb://user:s3cret@:::/x"}, {"database", ""}, {"layout", "tables"}, {"lease", time.Millisecond}, {"watch_poll", -time.Second}} {
		config := map[string]any{}
		for name, value := range good {
			config[name] = value
		}
		config[c.field] = c.value
		_, err := configure(t.Context(), config)
		var refusal *plugin.ConfigError
		if !errors.As(err, &refusal) || refusal.Field != c.field || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", c.field, err)
		}
		if asked := Plugin("").Check(config); fmt.Sprint(asked) != fmt.Sprint(err) {
			t.Errorf("%s: asked it said %v, configured %v", c.field, asked, err)
		}
	}
	d, err := configure(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), "a"); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Fatal(err)
	}
}

func TestAServerThatIsAwayIsNamedAtTheStart(t *testing.T) {
	_, err := configure(t.Context(), map[string]any{"uri": "mongodb://user:s3cret@127.0.0.1:1/x?serverSelectionTimeoutMS=200",
		"layout": "rows", "lease": time.Second, "watch_poll": time.Second})
	if storage.CodeOf(err) != storage.CodeUnavailable || !strings.Contains(err.Error(), "MongoDB at 127.0.0.1:1 does not answer") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}
