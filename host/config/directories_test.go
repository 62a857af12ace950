package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/config"
)

const withDirectories = "plugins: {main: {plugin: memory}, ldap: {plugin: ldap}}\napplications:\n  acme: {catalog: c.yaml, storage: {driver: main}}\n"

func TestADirectoryTakesItsNameAndTheOnlyApplication(t *testing.T) {
	got := load(t, withDirectories+"directories: {staff: {importer: ldap}}").Directories["staff"]
	want := config.Directory{Importer: "ldap", Application: "acme", Source: "staff", MaxDeactivations: 0.1, Timeout: 30 * time.Minute}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = load(t, withDirectories+`directories: {staff: {importer: ldap, application: acme, source: hr, schedule: "CRON_TZ=Europe/Berlin 0 3 * * *", jitter: 5m, authoritative: true, max_deactivations: 0, timeout: 90s}}`).Directories["staff"]
	want = config.Directory{Importer: "ldap", Application: "acme", Source: "hr", Schedule: "CRON_TZ=Europe/Berlin 0 3 * * *", Jitter: 5 * time.Minute, Authoritative: true, Timeout: 90 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryProblemOfADirectoryIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"no importer":                 {"directories: {staff: {}}", []string{"directories.staff.importer: is required"}},
		"an importer not configured":  {"directories: {staff: {importer: ldpa}}", []string{`directories.staff.importer: no plugin instance is called "ldpa"; did you mean ldap?`}},
		"an application that is not":  {"directories: {staff: {importer: ldap, application: acne}}", []string{`directories.staff.application: no application is called "acne"; did you mean acme?`}},
		"which application":           {"  other: {catalog: c.yaml, storage: {driver: main, partition: o}}\ndirectories: {staff: {importer: ldap}}", []string{"directories.staff.application: is required unless"}},
		"a misspelt key":              {"directories: {staff: {importer: ldap, shedule: '@daily'}}", []string{"directories.staff.shedule: unknown key; did you mean directories.staff.schedule?"}},
		"no schedule":                 {"directories: {staff: {importer: ldap, schedule: daily}}", []string{`directories.staff.schedule: "daily" is no cron expression of five fields`}},
		"seconds":                     {"directories: {staff: {importer: ldap, schedule: '0 0 0 * * *'}}", []string{"directories.staff.schedule: "}},
		"a day that never comes":      {"directories: {staff: {importer: ldap, schedule: '0 0 30 2 *'}}", []string{"there is no such day"}},
		"a share of more than all":    {"directories: {staff: {importer: ldap, max_deactivations: 10}}", []string{"directories.staff.max_deactivations: must be"}},
		"no time at all":              {"directories: {staff: {importer: ldap, timeout: 0s}}", []string{"directories.staff.timeout: must be from 1s to 6h0m0s, not 0s"}},
		"more jitter than a day":      {"directories: {staff: {importer: ldap, jitter: 25h}}", []string{"directories.staff.jitter: must be from 0s to 24h"}},
		"two that deactivate people":  {"directories: {a: {importer: ldap, authoritative: true}, b: {importer: ldap, authoritative: true}}", []string{"directories.b.authoritative: directories.a is authoritative for the same application"}},
		"names outside the grammar":   {"directories: {Staff: {importer: ldap}}", []string{"directories.Staff: a name holds"}},
		"a directory that is no such": {"directories: {staff: ldap}", []string{"directories.staff: must be a mapping"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(config.Source{Path: write(t, withDirectories+c.file), Environ: environ})
			var bad *config.Error
			if !errors.As(err, &bad) {
				t.Fatalf("%v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
		})
	}
}
