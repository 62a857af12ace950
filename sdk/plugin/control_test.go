package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

func withSchema(schema []plugin.Setting, configure func(config map[string]any) error) plugin.Plugin {
	p := plugin.Plugin{Name: "test", Version: "1.2", ConfigSchema: schema}
	p.Storage.Capabilities = storage.Capabilities{storage.CapEvents, storage.CapWatch}
	p.Storage.Configure = func(_ context.Context, config map[string]any) (storage.Driver, error) {
		if err := configure(config); err != nil {
			return nil, err
		}
		return memory.New(memory.Options{}), nil
	}
	return p
}

var schema = []plugin.Setting{
	{Name: "dsn", Type: plugin.TypeString, Required: true, Secret: true, Description: "where the database is"},
	{Name: "pool", Type: plugin.TypeInteger, Default: int64(4)},
	{Name: "wait", Type: plugin.TypeDuration, Default: 1500 * time.Millisecond},
	{Name: "migrate", Type: plugin.TypeBoolean},
	{Name: "hosts", Type: plugin.TypeStrings},
}

func TestDescribe(t *testing.T) {
	client, _ := serve(t, withSchema(schema, nil), nil).dial(t)
	got, err := client.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := plugin.Description{Name: "test", Version: "1.2",
		Kinds: []plugin.Kind{{Name: "storage", Capabilities: []string{"events", "watch"}}},
		Settings: []plugin.Setting{
			{Name: "dsn", Type: plugin.TypeString, Required: true, Secret: true, Description: "where the database is"},
			{Name: "pool", Type: plugin.TypeInteger, Default: float64(4)},
			{Name: "wait", Type: plugin.TypeDuration, Default: "1.5s"},
			{Name: "migrate", Type: plugin.TypeBoolean},
			{Name: "hosts", Type: plugin.TypeStrings},
		}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConfigureChecksEverySetting(t *testing.T) {
	cases := []struct {
		name   string
		config map[string]any
		want   map[string]any      // what the driver gets
		refuse *plugin.ConfigError // or why it gets nothing
	}{
		{"defaults are filled in", map[string]any{"dsn": "x"},
			map[string]any{"dsn": "x", "pool": int64(4), "wait": 1500 * time.Millisecond}, nil},
		{"every type arrives as its Go type", map[string]any{"dsn": "x", "pool": 9, "wait": "2m", "migrate": true, "hosts": []any{"a", "b"}},
			map[string]any{"dsn": "x", "pool": int64(9), "wait": 2 * time.Minute, "migrate": true, "hosts": []string{"a", "b"}}, nil},
		{"null is absent", map[string]any{"dsn": "x", "pool": nil},
			map[string]any{"dsn": "x", "pool": int64(4), "wait": 1500 * time.Millisecond}, nil},
		{"an unknown setting is named, with what was meant", map[string]any{"dsn": "x", "poool": 1}, nil,
			&plugin.ConfigError{Field: "poool", Message: "unknown", Suggestion: "pool"}},
		{"an unknown setting like no other has no suggestion", map[string]any{"dsn": "x", "colour": 1}, nil,
			&plugin.ConfigError{Field: "colour", Message: "unknown"}},
		{"a required setting that is missing", map[string]any{}, nil, &plugin.ConfigError{Field: "dsn", Message: "is required"}},
		{"no configuration at all", nil, nil, &plugin.ConfigError{Field: "dsn", Message: "is required"}},
		{"a number for a string, without its value", map[string]any{"dsn": 12345}, nil, &plugin.ConfigError{Field: "dsn", Message: "must be a string"}},
		{"a string for an integer", map[string]any{"dsn": "x", "pool": "9"}, nil, &plugin.ConfigError{Field: "pool", Message: "must be an integer"}},
		{"a fraction for an integer", map[string]any{"dsn": "x", "pool": 1.5}, nil, &plugin.ConfigError{Field: "pool", Message: "must be an integer"}},
		{"a number for a duration", map[string]any{"dsn": "x", "wait": 5}, nil, &plugin.ConfigError{Field: "wait", Message: `must be a duration such as "1500ms" or "10s"`}},
		{"a duration without a unit", map[string]any{"dsn": "x", "wait": "5"}, nil, &plugin.ConfigError{Field: "wait", Message: `must be a duration such as "1500ms" or "10s"`}},
		{"a string for a boolean", map[string]any{"dsn": "x", "migrate": "true"}, nil, &plugin.ConfigError{Field: "migrate", Message: "must be a boolean"}},
		{"a string for a list", map[string]any{"dsn": "x", "hosts": "a"}, nil, &plugin.ConfigError{Field: "hosts", Message: "must be a list of strings"}},
		{"a number in a list of strings", map[string]any{"dsn": "x", "hosts": []any{"a", 1}}, nil, &plugin.ConfigError{Field: "hosts", Message: "must be a list of strings"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got map[string]any
			client, _ := serve(t, withSchema(schema, func(config map[string]any) error { got = config; return nil }), nil).dial(t)
			checked := client.CheckConfig(t.Context(), plugin.Description{}, c.config)
			if got != nil {
				t.Error("it was configured by being asked")
			}
			_, err := client.Configure(t.Context(), c.config)
			if fmt.Sprint(checked) != fmt.Sprint(err) {
				t.Errorf("asked it said %v, configured %v", checked, err)
			}
			var refused *plugin.ConfigError
			errors.As(err, &refused)
			if diff := cmp.Diff(c.refuse, refused); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARefusalOfTheDriversKeepsItsTypeAndLeavesThePluginUnconfigured(t *testing.T) {
	refusals := []error{
		&plugin.ConfigError{Field: "dsn", Message: "is no address"},
		storage.Errorf(storage.CodeUnsupported, "schema version 1"),
		errors.New("the database says no"),
	}
	next := 0
	client, _ := serve(t, withSchema(nil, func(map[string]any) error {
		if next == len(refusals) {
			return nil
		}
		next++
		return refusals[next-1]
	}), nil).dial(t)
	for _, want := range refusals {
		_, err := client.Configure(t.Context(), nil)
		if err == nil || err.Error() != want.Error() {
			t.Errorf("got %v, want %v", err, want)
		}
		if _, err := plugin.SecondDriver(client).Open(t.Context(), "docs"); storage.CodeOf(err) != storage.CodeUnavailable {
			t.Errorf("an unconfigured plugin opened: %v", err)
		}
	}
	var config *plugin.ConfigError
	next = 0
	if _, err := client.Configure(t.Context(), nil); !errors.As(err, &config) {
		t.Errorf("%v is no *ConfigError", err)
	}
	if _, err := client.Configure(t.Context(), nil); storage.CodeOf(err) != storage.CodeUnsupported {
		t.Errorf("%v is no storage error", err)
	}
	next = len(refusals)
	if _, err := client.Configure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Configure(t.Context(), nil); err == nil {
		t.Error("it was configured twice")
	}
}

func TestThePluginExitsWhenTheLifelineEnds(t *testing.T) {
	for name, cut := range map[string]func(context.CancelFunc, func() error){
		"because the host lets go":       func(cancel context.CancelFunc, _ func() error) { cancel() },
		"because the connection is lost": func(_ context.CancelFunc, closeConn func() error) { closeConn() },
	} {
		t.Run(name, func(t *testing.T) {
			b := serve(t, serving(memory.New(memory.Options{})), nil)
			client, conn := b.dial(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended, err := client.Lifeline(ctx)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-b.exited:
				t.Fatal("it exits while its host lives")
			case <-ended:
				t.Fatal("it let go while its host lives")
			case <-time.After(50 * time.Millisecond):
			}
			cut(cancel, conn.Close)
			select {
			case <-b.exited:
			case <-time.After(30 * time.Second):
				t.Error("it lives on")
			}
			<-ended
		})
	}
}

func TestTheFactsOfDriverAndStoreCross(t *testing.T) {
	local := memory.New(memory.Options{})
	d := bridged(t, local)
	if diff := cmp.Diff(local.Info(), d.Info()); diff != "" {
		t.Error(diff)
	}
	want, err := local.Open(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Info(), openStore(t, d, "docs").Info()); diff != "" {
		t.Error(diff)
	}
	undeclared := bridged(t, &factless{local})
	if undeclared.Info().Durable != nil {
		t.Error("an undeclared durability came back declared")
	}
}

type factless struct{ storage.Driver }

func (factless) Info() storage.DriverInfo { return storage.DriverInfo{Name: "factless"} }

// TestAPluginJudgesItsSettingsWithoutBeingConfigured by its own Check, or, when it was
// built before there was one, by what it declares.
func TestAPluginJudgesItsSettingsWithoutBeingConfigured(t *testing.T) {
	p := withSchema(schema, func(map[string]any) error { return nil })
	p.Check = func(config map[string]any) error {
		if config["pool"] == int64(13) {
			return &plugin.ConfigError{Field: "pool", Message: "must not be 13"}
		}
		return nil
	}
	client, conn := serve(t, p, nil).dial(t)
	want := &plugin.ConfigError{Field: "pool", Message: "must not be 13"}
	var refused *plugin.ConfigError
	if err := client.CheckConfig(t.Context(), plugin.Description{}, map[string]any{"dsn": "x", "pool": 13}); !errors.As(err, &refused) || *refused != *want {
		t.Errorf("got %v, want %v", err, want)
	}
	for range 2 {
		if err := client.CheckConfig(t.Context(), plugin.Description{}, map[string]any{"dsn": "x"}); err != nil {
			t.Error(err)
		}
	}
	if _, err := client.Configure(t.Context(), map[string]any{"dsn": "x"}); err != nil {
		t.Error(err)
	}

	older := plugin.NewClient(without{conn, "/authz.plugin.v1.Plugin/CheckConfig"})
	described, err := older.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for config, want := range map[*map[string]any]string{
		{"dsn": "x", "poool": 1}:  `setting "poool": unknown; did you mean "pool"?`,
		{"dsn": "x", "wait": "5"}: `setting "wait": must be a duration such as "1500ms" or "10s"`,
		{"dsn": "x"}:              "<nil>",
	} {
		if err := older.CheckConfig(t.Context(), described, *config); fmt.Sprint(err) != want {
			t.Errorf("%v: %v, want %s", *config, err, want)
		}
	}
}

// without is a connection to a plugin that does not know one method.
type without struct {
	grpc.ClientConnInterface
	method string
}

func (w without) Invoke(ctx context.Context, method string, args, reply any, o ...grpc.CallOption) error {
	if method == w.method {
		method += "Unknown" // the server itself says what it says of unknown methods
	}
	return w.ClientConnInterface.Invoke(ctx, method, args, reply, o...)
}
