// Package sinktest is for tests of sinks. Tests alone import it.
package sinktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// Write writes a window that must be taken.
func Write(t testing.TB, s metrics.Sink, w metrics.Window) {
	t.Helper()
	if err := s.Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

// NoZeroIsADefault expects that a zero in each of the fields is refused by name, and not
// taken for the field's default. given is what the plugin needs besides.
func NoZeroIsADefault(t *testing.T, p plugin.Plugin, given map[string]any, fields ...string) {
	t.Helper()
	for _, field := range fields {
		config := map[string]any{}
		for _, s := range p.ConfigSchema {
			if s.Default != nil {
				config[s.Name] = s.Default
			}
		}
		maps.Copy(config, given)
		switch config[field].(type) {
		case time.Duration:
			config[field] = time.Duration(0)
		default:
			config[field] = int64(0)
		}
		s, err := p.Sink.Configure(t.Context(), config)
		var refused *plugin.ConfigError
		if !errors.As(err, &refused) || refused.Field != field {
			t.Errorf("%s: %v", field, err)
		}
		if asked := p.Check(config); fmt.Sprint(asked) != fmt.Sprint(err) {
			t.Errorf("%s: asked it said %v, configured %v", field, asked, err)
		}
		if err == nil {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_ = s.Close(ended)
		}
	}
}
