package config_test

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/host/config"
)

// zero is what a zero does of every key that does not refuse it by its least value.
var zero = map[string]string{
	"shutdown_timeout":                                     "off",
	"drain_delay":                                          "default", // which is no delay
	"plugins.<name>.hang_timeout":                          "off",
	"audit.anchor.interval":                                "refused",
	"metrics.window":                                       "refused",
	"applications.<name>.group_topology_ttl":               "off",
	"applications.<name>.client.subject_cache_ttl":         "off",
	"applications.<name>.client.object_cache_ttl":          "off",
	"applications.<name>.client.max_subject_cache_entries": "off",
	"applications.<name>.client.max_object_cache_entries":  "off",
	"service.session.lifetime":                             "refused",
	"service.session.idle":                                 "refused",
	"directories.<name>.jitter":                            "default",
	"directories.<name>.timeout":                           "refused",
}

// A key that is added says what a zero does (architecture, "Chosen here").
func TestZeroIsNeverTheDefault(t *testing.T) {
	seen := 0
	for _, k := range config.Keys() {
		if k.Type != config.TypeDuration && k.Type != config.TypeInteger || k.Min > 0 {
			continue
		}
		seen++
		isZero := k.Default == "0" || k.Default == "0s"
		tells := strings.Contains(k.Meaning, "`0`") || strings.Contains(k.Meaning, "`0s`")
		switch zero[k.Path] {
		case "off":
			if isZero || !tells {
				t.Errorf("%s does not say what zero does: %s", k.Path, k.Meaning)
			}
		case "default":
			if !isZero {
				t.Errorf("%s has the default %s, which zero must not mean", k.Path, k.Default)
			}
		case "refused":
			if isZero || tells {
				t.Errorf("%s tells of a zero that it refuses: %s", k.Path, k.Meaning)
			}
		default:
			t.Errorf("nobody knows what zero is of %s", k.Path)
		}
	}
	if seen != len(zero) {
		t.Errorf("%d keys take zero or refuse it by a rule of their own, %d are known", seen, len(zero))
	}
}
