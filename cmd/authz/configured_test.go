package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/freeport"
)

// One variable or flag says which host is meant, to every command that asks one.
func TestEveryCommandFindsTheHostByItsConfiguration(t *testing.T) {
	s := newConsole(t)
	path := filepath.Join(s.dir, "authz.yaml")
	for _, args := range []string{"check --user u_1 docs.files.read", "explain --user u_1 docs.files.read", "grant list", "audit list", "storage status", "plugin list",
		"sod", "user show u_1", "scope parents docs.folder:f_1", "reconcile --users " + s.write("users.txt", "u_1\n")} {
		words := strings.Fields(args)
		for _, way := range [][]string{{"--config", path}, {"-c", path}} {
			if _, errs, code := s.say("", append(words[:len(words):len(words)], way...)...); strings.Contains(errs, "no host") || strings.Contains(errs, "unknown") {
				t.Errorf("authz %s --config: exit %d, %s", args, code, errs)
			}
		}
		t.Run(words[0], func(t *testing.T) {
			t.Setenv("AUTHZ_CONFIG", path)
			if _, errs, code := s.say("", words...); strings.Contains(errs, "no host") {
				t.Errorf("authz %s with AUTHZ_CONFIG: exit %d, %s", args, code, errs)
			}
		})
	}
	for args, want := range map[string]string{
		"grant list --config " + path + " --socket " + s.socket:                                   "--config and --socket both say",
		"grant list --config " + path + " --url " + s.base + " --token-file " + s.dir + "/secret": "--config and --url both say",
		"grant list --config " + s.dir + "/none.yaml":                                             "none.yaml",
		"grant list --config " + s.write("broken.yaml", "listen: ["):                              "broken.yaml",
		"config check":      "--config is required",
		"whoami -c " + path: "has no section service",
	} {
		if _, errs, code := s.say("", strings.Fields(args)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("authz %s: exit %d, %s", args, code, errs)
		}
	}
	t.Setenv("AUTHZ_CONFIG", path)
	if out, errs, code := s.say("", "config", "print"); code != 0 || !strings.Contains(out, "docs.yaml") {
		t.Errorf("config print with AUTHZ_CONFIG: exit %d, %s", code, errs)
	}
	if out, errs, code := s.say("", "grant", "list", "--url", s.base, "--token-file", filepath.Join(s.dir, "secret")); code != 0 {
		t.Errorf("--url beside AUTHZ_CONFIG: exit %d, %s%s", code, out, errs)
	}
}

// Whatever has a way to a host takes --config.
func TestCommandsThatAskAHostTakeAConfiguration(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			walk(child)
		}
		if c.Name() == "logout" || c.CommandPath() == "authz context add" { // they ask nobody
			return
		}
		asks := c.Flags().Lookup("socket") != nil || c.Flags().Lookup("url") != nil
		if asks && (c.Flags().Lookup("config") == nil || c.Flags().ShorthandLookup("c") == nil) {
			t.Errorf("%s has no --config", c.CommandPath())
		}
		if c.Flags().Lookup("url") != nil && c.Flags().Lookup("ca-file") == nil {
			t.Errorf("%s has no --ca-file", c.CommandPath())
		}
	}
	walk(newRoot())
}

// The commands of the hosted API are told by it where that is.
func TestTheHostedAPIIsFoundByTheConfiguration(t *testing.T) {
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	x := newTenantWith(t, func(text string) string {
		return strings.Replace(text, "127.0.0.1:0", address, 1)
	})
	path := filepath.Join(x.dir, "authz.yaml")
	if out, errs, code := x.say(x.key+"\n", "login", "--config", path, "--org", "acme"); code != 0 || !strings.Contains(out, x.base) {
		t.Fatalf("login: exit %d\n%s%s", code, out, errs)
	}
	x.shows("boss", "whoami", "--config", path)
	x.works("seat", "list", "--org", "acme", "--config", path)
	x.works("logout")
	t.Setenv("AUTHZ_CONFIG", path)
	x.works("seat", "list", "--org", "acme", "--token-file", x.write("key", x.key))
	if _, errs, code := x.say(x.key+"\n", "login", "--org", "acme"); code != 0 {
		t.Fatalf("login with AUTHZ_CONFIG: %s", errs)
	}
}

// Two configurations that name no run_dir share a socket: what is meant for one host must
// not reach the other.
func TestAHostOfAnotherConfigurationAnswersNothing(t *testing.T) {
	s := newConsole(t)
	path := filepath.Join(s.dir, "authz.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := s.write("other.yaml", string(text))
	link := filepath.Join(s.dir, "link.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	create := strings.Fields("grant create user:u_9 --pattern docs.files.read")
	for _, args := range [][]string{create, strings.Fields("grant list"), strings.Fields("plugin list"), strings.Fields("storage status"), strings.Fields("check --user u_1 docs.files.read")} {
		_, errs, code := s.say("", append(args[:len(args):len(args)], "-c", other)...)
		if code != exitFailure || !strings.Contains(errs, "runs with "+strconv.Quote(path)+", and not with "+strconv.Quote(other)) {
			t.Errorf("%v asked the host of another configuration: exit %d, %s", args, code, errs)
		}
	}
	if out, errs, code := s.say("", "grant", "list", "--subject", "user:u_9", "-c", link); code != 0 || strings.Contains(out, "u_9") {
		t.Errorf("by a link to the configuration: exit %d, %s%s", code, out, errs)
	}
	t.Setenv("AUTHZ_CONFIG", other)
	if _, errs, code := s.say("", "grant", "list", "--socket", s.socket); code != 0 {
		t.Errorf("--socket beside AUTHZ_CONFIG: exit %d, %s", code, errs)
	}
}
