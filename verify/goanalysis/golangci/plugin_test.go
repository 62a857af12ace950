package golangci

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"
)

func TestThePluginIsRegisteredWithItsSettings(t *testing.T) {
	make, err := register.GetPlugin("authzverify")
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := make(map[string]any{"config": "ci/authz.json", "tests": true})
	if err != nil {
		t.Fatal(err)
	}
	if mode := plugin.GetLoadMode(); mode != register.LoadModeTypesInfo {
		t.Errorf("the load mode is %q: keys are read by type information", mode)
	}
	analyzers, err := plugin.BuildAnalyzers()
	if err != nil || len(analyzers) != 1 {
		t.Fatalf("%d analyzers, %v", len(analyzers), err)
	}
	for name, want := range map[string]string{"config": "ci/authz.json", "tests": "true", "catalog": ""} {
		if got := analyzers[0].Flags.Lookup(name).Value.String(); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := make(map[string]any{"catalogue": "x"}); err == nil {
		t.Error("a setting that does not exist is taken")
	}
	if _, err := make(nil); err != nil {
		t.Errorf("no settings at all: %v", err)
	}
}
