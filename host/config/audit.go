package config

import "time"

// AuditLogs is about audit logs wherever they lie.
type AuditLogs struct {
	Anchor *Anchor `koanf:"anchor"` // nil is off
}

// Anchor is where the heads of hash chains are kept outside the database.
type Anchor struct {
	File     string        `koanf:"file"`
	Interval time.Duration `koanf:"interval"`
}

const (
	minAnchorInterval = time.Second
	maxAnchorInterval = 24 * time.Hour
)

func (l *loader) checkAudit(c *Config) {
	a := c.Audit.Anchor
	if a == nil {
		return
	}
	at := func(keys ...string) []string { return append([]string{"audit", "anchor"}, keys...) }
	if (a.Interval < minAnchorInterval || a.Interval > maxAnchorInterval) && !l.told(at("interval")) {
		l.problem(at("interval"), "must be from %s to %s, not %s", minAnchorInterval, maxAnchorInterval, a.Interval)
	}
	chained := c.Service != nil // whose account logs are
	for _, app := range c.Applications {
		chained = chained || app.Audit.HashChain
	}
	if !chained {
		l.problem(at(), "has nothing to anchor: set audit.hash_chain: true for an application")
	}
}
