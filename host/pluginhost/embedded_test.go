package pluginhost_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/pluginhost"
)

// embedded are two plugins that this test binary carries: memory, and one that
// no directory has.
func embedded(t *testing.T) (own string, commands map[string]pluginhost.Command) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	commands = map[string]pluginhost.Command{}
	for _, name := range []string{"memory", "inside"} {
		commands[name] = pluginhost.Command{Path: own, Args: []string{asEmbedded, name}}
	}
	commands["lies"] = pluginhost.Command{Path: own, Args: []string{asEmbedded, "another"}}
	return own, commands
}

func TestAnEmbeddedPluginIsAProcessLikeAnyOther(t *testing.T) {
	own, commands := embedded(t)
	h := newHost(t, pluginhost.Options{Embedded: commands})
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "inside"})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Status()
	if !s.Embedded || s.Path != own || s.Plugin != "inside" || s.Version != "embedded" || s.PID == os.Getpid() {
		t.Errorf("status %+v", s)
	}
	d, err := p.Storage()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, d).Commit(t.Context(), role("r")); err != nil {
		t.Error(err)
	}
	if shown, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID)); err == nil {
		if want := []string{own, asEmbedded, "inside", ""}; !slices.Equal(strings.Split(string(shown), "\x00"), want) {
			t.Errorf("it runs as %q", shown)
		}
	}
}

func TestADirectoryComesBeforeTheHostsOwnBinary(t *testing.T) {
	_, commands := embedded(t)
	h := newHost(t, pluginhost.Options{Embedded: commands})
	p, _ := startMemory(t, h)
	if s := p.Status(); s.Embedded || filepath.Dir(s.Path) != binaries {
		t.Errorf("status %+v", s)
	}
	// A file that cannot be run is an error, not a reason to look further.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "authz-plugin-inside"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := newHost(t, pluginhost.Options{Embedded: commands, Dirs: []string{dir}})
	if e := startError(t, other, pluginhost.Spec{Name: "main", Plugin: "inside"}); !strings.Contains(e.Reason, "chmod") {
		t.Errorf("reason %q", e.Reason)
	}
	// A path is never looked for among the embedded ones; a name that is nowhere
	// says what there is.
	if e := startError(t, other, pluginhost.Spec{Name: "main", Plugin: "./inside"}); !strings.Contains(e.Reason, "does not exist") {
		t.Errorf("reason %q", e.Reason)
	}
	if e := startError(t, other, pluginhost.Spec{Name: "main", Plugin: "oracle"}); !strings.Contains(e.Reason, "inside, lies, memory") {
		t.Errorf("reason %q", e.Reason)
	}
	if e := startError(t, other, pluginhost.Spec{Name: "main", Plugin: "lies"}); !strings.Contains(e.Reason, `"another"`) {
		t.Errorf("reason %q", e.Reason)
	}
}

func TestAnEmbeddedPluginIsPinnedByTheHostsOwnBinary(t *testing.T) {
	own, commands := embedded(t)
	b, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	right := fmt.Sprintf("%x", sha256.Sum256(b))
	h := newHost(t, pluginhost.Options{Embedded: commands, RequireChecksum: true})
	if e := startError(t, h, pluginhost.Spec{Name: "main", Plugin: "inside"}); !strings.Contains(e.Reason, "require_checksum") {
		t.Errorf("without a pin: %q", e.Reason)
	}
	if e := startError(t, h, pluginhost.Spec{Name: "main", Plugin: "inside", SHA256: strings.Repeat("0", 64)}); !strings.Contains(e.Reason, right) {
		t.Errorf("with another pin: %q", e.Reason)
	}
	if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "inside", SHA256: right}); err != nil {
		t.Error(err)
	}
}

// TestAnUpgradeDoesNotMixVersions: what is executed and hashed is File, whatever
// has come to stand at Path.
func TestAnUpgradeDoesNotMixVersions(t *testing.T) {
	own, commands := embedded(t)
	replaced := filepath.Join(t.TempDir(), "authz")
	if err := os.WriteFile(replaced, []byte("another version"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := commands["inside"]
	c.Path, c.File = replaced, own
	h := newHost(t, pluginhost.Options{Embedded: map[string]pluginhost.Command{"inside": c}})
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "inside"})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); s.Path != replaced {
		t.Errorf("status %+v", s)
	}
}

func TestSwitchesAreSetWhereAPluginDeclaresThem(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	spec := faulty("switch")
	spec.Config = map[string]any{"migrate": true}
	spec.Switches = map[string]bool{"migrate": false, "loud": true, "unknown": true}
	if e := startError(t, h, spec); !strings.Contains(e.Reason, "migrate is false, loud is <nil>") {
		t.Errorf("reason %q", e.Reason)
	}
	if spec.Config["migrate"] != true {
		t.Error("the configuration was changed")
	}
	if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "memory", Switches: spec.Switches}); err != nil {
		t.Errorf("a plugin that declares none of them: %v", err)
	}
}

func TestAPluginRunsWhereItIsTold(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	spec := faulty("directory")
	spec.Dir = t.TempDir()
	if e := startError(t, h, spec); !strings.Contains(e.Reason, "working directory "+spec.Dir) {
		t.Errorf("reason %q", e.Reason)
	}
	spec.Dir = filepath.Join(spec.Dir, "nowhere")
	if e := startError(t, h, spec); !strings.Contains(e.Reason, "working directory "+spec.Dir) {
		t.Errorf("reason %q", e.Reason)
	}
}
