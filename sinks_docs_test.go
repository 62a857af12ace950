package authz_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/plugins/otlp/otlp"
	"github.com/authzhost/authz/plugins/prometheus/prometheus"
	"github.com/authzhost/authz/sdk/plugin"
)

// The examples of docs/sinks.md start the sinks as they stand there, but for the
// port, the folder and the secrets; and every setting is told of.
func TestTheExamplesOfSinksStart(t *testing.T) {
	text, err := os.ReadFile("docs/sinks.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]plugin.Plugin{}
	for _, p := range []plugin.Plugin{prometheus.Plugin("test"), otlp.Plugin("test")} {
		kinds[p.Name] = p
		for _, s := range p.ConfigSchema {
			if !strings.Contains(string(text), "`"+s.Name+"`") {
				t.Errorf("nothing is said of %s's setting %s", p.Name, s.Name)
			}
		}
	}
	started := map[string]bool{}
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		var example struct {
			Plugins map[string]struct {
				Plugin string
				Config map[string]any
			}
		}
		if err := yaml.Unmarshal([]byte(block), &example); err != nil {
			t.Fatal(err)
		}
		for _, instance := range example.Plugins {
			p := kinds[instance.Plugin]
			config := map[string]any{}
			for _, s := range p.ConfigSchema {
				value, given := instance.Config[s.Name]
				delete(instance.Config, s.Name)
				switch {
				case !given && s.Default != nil:
					config[s.Name] = s.Default
				case s.Name == "listen" && given:
					config[s.Name] = "127.0.0.1:0"
				case s.Name == "state_dir" && given:
					config[s.Name] = t.TempDir()
				case s.Name == "headers" && given:
					config[s.Name] = []string{"Authorization: Bearer token"}
				case given && s.Type == plugin.TypeStrings:
					list := []string{}
					for _, v := range value.([]any) {
						list = append(list, v.(string))
					}
					config[s.Name] = list
				case given:
					config[s.Name] = value
				}
			}
			if len(instance.Config) > 0 {
				t.Errorf("%s has no settings %v", instance.Plugin, instance.Config)
			}
			s, err := p.Sink.Configure(t.Context(), config)
			if err != nil {
				t.Fatalf("%s: %v", instance.Plugin, err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel() // the collector of the example is nowhere
			_ = s.Close(ended)
			started[instance.Plugin] = true
		}
	}
	if len(started) != len(kinds) {
		t.Errorf("examples of %v", started)
	}
}
