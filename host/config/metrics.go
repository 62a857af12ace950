package config

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
)

const (
	minWindow   = time.Second
	maxWindow   = time.Hour
	maxInstance = 128 // bytes
)

// checkMetrics cannot know what kinds a plugin serves: the start does.
func (l *loader) checkMetrics(c *Config) {
	at := func(keys ...string) []string { return append([]string{"metrics"}, keys...) }
	m := &c.Metrics
	for i, sink := range m.Sinks {
		path := at("sinks", index(i))
		if slices.Contains(m.Sinks[:i], sink) {
			l.problem(path, "%s is in the list already: its counts would count twice", spell.Quote(sink))
			continue
		}
		l.checkDriver(c, path, sink)
	}
	if (m.Window < minWindow || m.Window > maxWindow) && !l.told(at("window")) {
		l.problem(at("window"), "must be from %s to %s, not %s", minWindow, maxWindow, m.Window)
	}
	if len(m.Instance) > maxInstance || strings.ContainsFunc(m.Instance, unicode.IsControl) || !utf8.ValidString(m.Instance) {
		l.problem(at("instance"), "must be at most %d bytes of UTF-8, without control characters", maxInstance)
	}
	for i, scopeType := range m.ScopeInstances {
		if slices.Contains(m.ScopeInstances[:i], scopeType) {
			l.problem(at("scope_instances", index(i)), "%s is in the list already", spell.Quote(scopeType))
		}
	}
}
