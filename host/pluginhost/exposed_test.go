package pluginhost_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/otheruser"
	"github.com/authzhost/authz/internal/testlog"
)

// TestAPluginThatOthersMayWriteIsRefused at its start and at each restart, and with
// InsecurePermissions told in the log.
func TestAPluginThatOthersMayWriteIsRefused(t *testing.T) {
	otheruser.Need(t)
	program, err := os.ReadFile(filepath.Join(binaries, "authz-plugin-memory"))
	if err != nil {
		t.Fatal(err)
	}
	top := otheruser.Dir(t)
	dir := filepath.Join(top, "plugins")
	path := filepath.Join(dir, "authz-plugin-memory")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(path, program, 0o755)); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, pluginhost.Options{Dirs: []string{dir}, Logger: hclog.NewNullLogger()})
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		mode os.FileMode
		can  string
		want string
	}{
		"the binary":      {path, 0o757, "test -w $1/authz-plugin-memory" /* it runs: busy */, "authz-plugin-memory has mode 0757"},
		"its directory":   {dir, 0o777, "mv $1/authz-plugin-memory $1/old; cp $1/old $1/authz-plugin-memory", "chmod go-w " + dir},
		"the one above":   {top, 0o777, "mv $1 $1.old; cp -r $1.old $1", "chmod go-w " + top},
		"a sticky folder": {dir, 0o777 | os.ModeSticky, "echo >$1/authz-plugin-x", "has mode 1777"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Chmod(c.file, c.mode); err != nil {
				t.Fatal(err)
			}
			defer func() { // as it was, whatever the other user made of it
				if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+".old"), os.Chmod(top, 0o755), os.Mkdir(dir, 0o755), os.WriteFile(path, program, 0o755)); err != nil {
					t.Fatal(err)
				}
			}()
			e := startError(t, h, pluginhost.Spec{Name: "second", Plugin: "memory"})
			if !strings.Contains(e.Reason, c.want) || !strings.Contains(e.Reason, "insecure_permissions: allow") {
				t.Errorf("reason %q lacks %q", e.Reason, c.want)
			}
			if err := pluginhost.Exposed("memory", []string{dir}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("a check of the configuration tells %v", err)
			}
			if c.mode&os.ModeSticky == 0 { // a directory is searched at the first start only
				if err := p.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("a restart gave %v", err)
				}
			}
			var log testlog.Log
			allowed := newHost(t, pluginhost.Options{Dirs: []string{dir}, InsecurePermissions: true, Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
			if _, err := allowed.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "memory"}); err != nil {
				t.Error(err)
			}
			if text := log.String(); !strings.Contains(text, c.want) || !strings.Contains(text, "[WARN]") {
				t.Errorf("the log says %s", text)
			}
			otheruser.Do(t, c.can, dir)
		})
	}
	if err := p.Restart(t.Context()); err != nil {
		t.Error("mended, it does not start:", err)
	}
}

// TestARunDirectoryOfAnotherUsersIsRefused: what it leads to stays as it is.
func TestARunDirectoryOfAnotherUsersIsRefused(t *testing.T) {
	otheruser.Need(t)
	for name, prepare := range map[string]string{
		"a directory":               "mkdir -p -m 777 $1/run/plugins; echo >$1/run/plugins/x",
		"a link":                    "ln -s $2 $1/run",
		"a directory with a lock":   "mkdir -m 777 $1/run; ln -s $2/made $1/run/plugins.lock",
		"a link in its own one":     "mkdir -m 777 $1/run; ln -s $2/plugins $1/run/plugins",
		"a directory above the one": "mkdir -m 777 $1/run; ln -s $2 $1/run/deep",
	} {
		t.Run(name, func(t *testing.T) {
			tmp, mine := otheruser.Sticky(t), otheruser.Dir(t)
			precious := filepath.Join(mine, "plugins", "precious")
			if err := errors.Join(os.Mkdir(filepath.Dir(precious), 0o700), os.WriteFile(precious, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			otheruser.Do(t, prepare, tmp, mine)
			for _, dir := range []string{"/run", "/run/deep"} {
				for _, insecure := range []bool{false, true} {
					if insecure && dir == "/run/deep" {
						continue // the way to it is the operator's then
					}
					h, err := pluginhost.New(pluginhost.Options{RunDir: tmp + dir, InsecurePermissions: insecure})
					if err == nil {
						h.Close(t.Context())
						t.Errorf("%s, insecure %v: it is used", dir, insecure)
					} else if !strings.Contains(err.Error(), "uid 65534 (nobody)") || !strings.Contains(err.Error(), "chown root ") {
						t.Errorf("%s: %v", dir, err)
					}
				}
			}
			entries, err := os.ReadDir(mine)
			if _, gone := os.Stat(precious); err != nil || len(entries) != 1 || gone != nil {
				t.Errorf("what it leads to was changed: %v %v %v", entries, err, gone)
			}
		})
	}
}
