package config

import (
	"time"

	"github.com/authzhost/authz/host/directory/schedule"
	"github.com/authzhost/authz/internal/spell"
)

// Directory is one outside directory whose people and groups are brought into an
// application.
type Directory struct {
	Importer         string        `koanf:"importer"`    // the name of a plugin instance
	Application      string        `koanf:"application"` // the only one unless given
	Source           string        `koanf:"source"`      // what the audit log calls it; its name unless given
	Schedule         string        `koanf:"schedule"`    // as schedule.Parse reads it; "" is by hand only
	Jitter           time.Duration `koanf:"jitter"`
	Authoritative    bool          `koanf:"authoritative"`
	MaxDeactivations float64       `koanf:"max_deactivations"` // share, 0 to 1
	Timeout          time.Duration `koanf:"timeout"`
}

const (
	minDirectoryTimeout = time.Second
	maxDirectoryJitter  = 24 * time.Hour

	// MaxDirectoryTimeout bounds Directory.Timeout.
	MaxDirectoryTimeout = 6 * time.Hour
)

func directoryKeys() []Key {
	const dir = "directories.<name>."
	return []Key{
		{Path: dir + "importer", Type: TypeText, Required: true, Meaning: "Name of the plugin instance that reads the directory; it must serve `directory_importer`."},
		{Path: dir + "application", Type: TypeText, Meaning: "The application that the people and groups belong to. Default: the only one."},
		{Path: dir + "source", Type: TypeText, Meaning: "What the audit log calls the directory. Default: the directory's name."},
		{Path: dir + "schedule", Type: TypeText, Meaning: "When the host imports it: a cron expression of five fields such as `*/30 * * * *`, or `@hourly`, `@daily`; in UTC unless `CRON_TZ=Europe/Berlin` and a space stand in front. Left out: only by `authz directory import`."},
		{Path: dir + "jitter", Type: TypeDuration, Default: "0s", Meaning: "A scheduled run begins up to this much later, by a random time, so that hosts and directories do not all begin at once; up to `24h`."},
		{Path: dir + "authoritative", Type: TypeBoolean, Default: "false", Meaning: "Absence means something: people whom the directory no longer lists become inactive, and lose their memberships in its groups and their managers. Every run then reads the whole directory. An application has at most one such directory."},
		{Path: dir + "max_deactivations", Type: TypeFraction, Default: "0.1", Meaning: "Share of the active people whom one run may make inactive, because they are absent or listed as inactive. A run that would make more inactive changes nothing until `authz directory import <name> --confirm-deactivations`. For an authoritative run it also bounds the share of the stored memberships, and of those in the directory's groups, that the run may remove."},
		{Path: dir + "timeout", Type: TypeDuration, Default: "30m", Meaning: "How long a run may take to read the directory, and again to apply it; up to `6h`."},
	}
}

// checkDirectories fills in what follows from other keys, too.
func (l *loader) checkDirectories(c *Config) {
	authoritative := map[string]string{}
	for _, name := range sortedKeys(c.Directories) {
		d := c.Directories[name]
		at := func(key string) []string { return []string{"directories", name, key} }
		if d.Source == "" {
			d.Source = name
		}
		l.checkDriver(c, at("importer"), d.Importer)
		apps := sortedKeys(c.Applications)
		_, known := c.Applications[d.Application]
		switch {
		case known, l.given("applications", d.Application):
		case d.Application == "" && len(apps) == 1:
			d.Application = apps[0]
		case d.Application == "":
			l.problem(at("application"), "is required unless there is exactly one application")
		default:
			l.problem(at("application"), "no application is called %s%s", spell.Quote(d.Application), hintOf(d.Application, apps))
		}
		if _, err := schedule.Parse(d.Schedule); err != nil {
			l.problem(at("schedule"), "%s is no cron expression of five fields: %v", spell.Quote(d.Schedule), err)
		}
		if d.Jitter < 0 || d.Jitter > maxDirectoryJitter {
			l.problem(at("jitter"), "must be from 0s to %s, not %s", maxDirectoryJitter, d.Jitter)
		}
		if (d.Timeout < minDirectoryTimeout || d.Timeout > MaxDirectoryTimeout) && !l.told(at("timeout")) {
			l.problem(at("timeout"), "must be from %s to %s, not %s", minDirectoryTimeout, MaxDirectoryTimeout, d.Timeout)
		}
		if other, twice := authoritative[d.Application]; d.Authoritative && twice {
			l.problem(at("authoritative"), "directories.%s is authoritative for the same application: each would deactivate the people of the other", other)
		} else if d.Authoritative {
			authoritative[d.Application] = name
		}
		c.Directories[name] = d
	}
}
