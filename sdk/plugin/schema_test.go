package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/sdk/storage"
)

func TestASchemaThatMakesNoSenseIsRefusedBeforeServing(t *testing.T) {
	configure := func(context.Context, map[string]any) (storage.Driver, error) { return nil, nil }
	good := Plugin{Name: "p", Storage: StorageKind{Configure: configure}, ConfigSchema: []Setting{
		{Name: "a", Type: TypeString, Default: "x"}, {Name: "b", Type: TypeInteger, Default: int64(1)}, {Name: "c", Type: TypeBoolean, Default: false},
		{Name: "d", Type: TypeDuration, Default: time.Second}, {Name: "e", Type: TypeStrings, Default: []string{"x"}}, {Name: "f", Type: TypeString, Required: true},
	}}
	if err := check(good); err != nil {
		t.Errorf("a good plugin gave %v", err)
	}
	bad := map[string]Plugin{
		"no name":                {Storage: good.Storage},
		"no kind":                {Name: "p"},
		"a nameless setting":     {Name: "p", Storage: good.Storage, ConfigSchema: []Setting{{Type: TypeString}}},
		"a setting twice":        {Name: "p", Storage: good.Storage, ConfigSchema: []Setting{{Name: "a", Type: TypeString}, {Name: "a", Type: TypeString}}},
		"an unknown type":        {Name: "p", Storage: good.Storage, ConfigSchema: []Setting{{Name: "a", Type: "float"}}},
		"a default of no type":   {Name: "p", Storage: good.Storage, ConfigSchema: []Setting{{Name: "a", Type: TypeInteger, Default: 1}}},
		"a default of another":   {Name: "p", Storage: good.Storage, ConfigSchema: []Setting{{Name: "a", Type: TypeString, Default: int64(1)}}},
		"a required one with it": {Name: "p", Storage: good.Storage, ConfigSchema: []Setting{{Name: "a", Type: TypeString, Required: true, Default: "x"}}},
	}
	for name, p := range bad {
		if check(p) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// go-plugin reads a plugin's log by these members.
func TestRecordsOfSlogReadAsTheHostsOwn(t *testing.T) {
	var out bytes.Buffer
	slog.New(hostLog(&out)).With("table", "AuthzGrant").Warn("slow", slog.Group("took", "ms", 7))
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(hclog.TimeFormatJSON, got["@timestamp"].(string)); err != nil {
		t.Error(err)
	}
	delete(got, "@timestamp")
	want := map[string]any{"@level": "warn", "@message": "slow", "table": "AuthzGrant", "took": map[string]any{"ms": 7.0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
