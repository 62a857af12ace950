package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/otheruser"
)

// exposedTo is a configuration in a directory that the other user may enter.
func exposedTo(t *testing.T, text string) (dir, path string) {
	t.Helper()
	dir = otheruser.Dir(t)
	cert, key := certificate(t)
	for name, from := range map[string]string{"cert": cert, "key": key} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, from, name)
		put(t, filepath.Join(dir, name), string(b))
	}
	put(t, dir+"/secret", secret)
	put(t, dir+"/password", secret)
	put(t, dir+"/acme.yaml", "")
	put(t, dir+"/authz-plugin-own", "")
	if err := os.Mkdir(dir+"/plugins", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/authz.yaml", text)
	return dir, dir + "/authz.yaml"
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const guarded = `plugin_dirs: [plugins]
tls: {cert: cert, key: key, client_ca: cert}
plugins:
  main: {plugin: ./authz-plugin-own, env: {PASSWORD: "file:password"}}
applications:
  acme:
    catalog: acme.yaml
    storage: {driver: main}
    provider: {secret: "file:secret"}
`

// TestWhatOtherUsersMayWriteOrReadIsRefused and, where insecure_permissions allows it,
// told for the log. The other user does it first.
func TestWhatOtherUsersMayWriteOrReadIsRefused(t *testing.T) {
	otheruser.Need(t)
	for _, c := range []struct {
		file string
		mode os.FileMode
		can  string // done by the other user
		want []string
	}{
		{"secret", 0o604, "cat $1", []string{"line 9: applications.acme.provider.secret: ", "/secret has mode 0604 and belongs to uid 0 (root): every user can read it. Run: chmod go-rwx "}},
		{"secret", 0o602, "echo >>$1", []string{"line 9: applications.acme.provider.secret: ", "/secret has mode 0602", "every user can write it"}},
		{"password", 0o644, "cat $1", []string{"line 4: plugins.main.env.PASSWORD: ", "/password has mode 0644", "every user can read it"}},
		{"key", 0o644, "cat $1", []string{"line 2: tls.key: ", "/key has mode 0644", "every user can read it"}},
		{"cert", 0o646, "echo >>$1", []string{"line 2: tls.cert: ", "line 2: tls.client_ca: "}},
		{"acme.yaml", 0o646, "echo >>$1", []string{"line 7: applications.acme.catalog: "}},
		{"authz-plugin-own", 0o757, "echo >>$1", []string{"line 4: plugins.main.plugin: "}},
		{"plugins", 0o757, "echo >$1/authz-plugin-x", []string{"line 1: plugin_dirs[0]: ", "/plugins has mode 0757"}},
		{"authz.yaml", 0o646, "echo >>$1", []string{"/authz.yaml has mode 0646", "AUTHZ_INSECURE_PERMISSIONS=allow in the environment"}},
	} {
		t.Run(fmt.Sprintf("%s %o", c.file, c.mode), func(t *testing.T) {
			dir, path := exposedTo(t, guarded)
			if _, err := config.Load(config.Source{Path: path}); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, c.file), c.mode); err != nil {
				t.Fatal(err)
			}
			otheruser.Do(t, c.can, filepath.Join(dir, c.file))
			_, err := config.Load(config.Source{Path: path})
			for _, part := range append(c.want, "insecure_permissions") {
				if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(part)) {
					t.Errorf("%v lacks %q", err, part)
				}
			}
			cfg, err := config.Load(config.Source{Path: path, Environ: []string{"AUTHZ_INSECURE_PERMISSIONS=allow"}})
			if err != nil {
				t.Fatal("allowed, it was refused: ", err)
			}
			if len(cfg.Exposed) == 0 || !strings.Contains(cfg.Exposed[0].Error(), filepath.Join(dir, c.file)) {
				t.Errorf("for the log: %v", cfg.Exposed)
			}
		})
	}
}

// TestAFileThatOthersMayWriteCannotAllowItself: they could write the permission.
func TestAFileThatOthersMayWriteCannotAllowItself(t *testing.T) {
	dir, path := exposedTo(t, guarded+"insecure_permissions: allow\n")
	if err := os.Chmod(dir+"/secret", 0o644); err != nil {
		t.Fatal(err)
	}
	if cfg, err := config.Load(config.Source{Path: path}); err != nil || len(cfg.Exposed) != 1 {
		t.Errorf("the file allows a secret: %v", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	found := problems(t, config.Source{Path: path})
	if len(found) != 1 || !strings.Contains(found[0].Message, "authz.yaml has mode 0666") {
		t.Errorf("%v", found)
	}
	if _, err := config.Load(config.Source{Path: path, Environ: []string{"AUTHZ_INSECURE_PERMISSIONS=allow"}}); err != nil {
		t.Error(err)
	}
}

func TestOperationsBeyondLoopbackNeedTLSAndHaveNoProfiles(t *testing.T) {
	cert, key := certificate(t)
	withTLS := "tls: {cert: " + cert + ", key: " + key + "}\n"
	for _, c := range []struct {
		text string
		want []string
	}{
		{"ops_listen: 0.0.0.0:9090", []string{"ops_listen: \"0.0.0.0:9090\" can be reached from other machines"}},
		{"ops_listen: ':9090'", []string{"ops_listen: \":9090\" can be reached"}},
		{"ops_listen: metrics.internal:9090\nops: {profiles: true}", []string{"ops_listen: ", "ops.profiles: profiles show what is in memory"}},
		{withTLS + "ops_listen: 0.0.0.0:9090\nops: {profiles: true}", []string{"ops.profiles: "}},
		{"tls: {terminated_upstream: true}\nops_listen: 0.0.0.0:9090\nops: {profiles: true}", []string{"ops.profiles: "}},
		{withTLS + "ops_listen: 0.0.0.0:9090", nil},
		{"tls: {terminated_upstream: true}\nops_listen: 0.0.0.0:9090", nil},
		{"ops_listen: '[::1]:9090'\nops: {profiles: true}", nil},
		{"ops_listen: ''\nops: {profiles: true}", nil},
	} {
		if len(c.want) > 0 {
			expectProblems(t, problems(t, config.Source{Path: write(t, c.text)}), c.want)
			continue
		}
		if cfg := load(t, c.text); cfg.OpsTLS() != strings.HasPrefix(c.text, "tls: {cert") {
			t.Errorf("%q: TLS %v", c.text, cfg.OpsTLS())
		}
	}
}

// TestTheDefaultRunDirectory is in none that every user may write, where there is another.
func TestTheDefaultRunDirectory(t *testing.T) {
	cfg, err := config.Load(config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	uid := os.Getuid()
	want := fmt.Sprintf("%s/authz-%d", os.TempDir(), uid)
	for _, base := range []string{"/run", fmt.Sprintf("/run/user/%d", uid)} { // the last that there is
		if info, err := os.Stat(base); err == nil && info.IsDir() && (uid == 0 || base != "/run") {
			want = base + "/authz"
		}
	}
	if cfg.RunDir != want {
		t.Errorf("run_dir %s, want %s", cfg.RunDir, want)
	}
}
