package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/otheruser"
)

func put(t *testing.T, path string, mode fs.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	return path
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string, mode fs.FileMode) string {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	return path
}

func chown(t *testing.T, path string, uid, gid int) {
	t.Helper()
	if err := os.Lchown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// lines says what the error must hold; none is no error.
func expect(t *testing.T, err error, parts ...string) {
	t.Helper()
	if len(parts) == 0 {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !files.IsExposed(err) {
		t.Fatalf("got %v, want an *ExposedError", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

// TestWhatAnotherUserCanDoIsRefused does it as that user first, so that the refusal
// is about a real danger.
func TestWhatAnotherUserCanDoIsRefused(t *testing.T) {
	otheruser.Need(t)
	const shared = 65534 // a group that the other user is in
	cases := []struct {
		name  string
		use   files.Use
		make  func(t *testing.T, dir string) (file string)
		can   string // done by the other user; $1 is the file, $2 its directory
		parts []string
	}{
		{"a file of mode 0666", files.Trusted, func(t *testing.T, dir string) string { return put(t, dir+"/f", 0o666) },
			"echo >>$1", []string{"mode 0666", "uid 0", "every user can write it", "Run: chmod go-w "}},
		{"a file of a shared group", files.Trusted, func(t *testing.T, dir string) string {
			f := put(t, dir+"/f", 0o660)
			chown(t, f, 0, shared)
			return f
		}, "echo >>$1", []string{"mode 0660", "group 65534", "Run: chmod g-w "}},
		{"a file that belongs to the other user", files.Trusted, func(t *testing.T, dir string) string {
			f := put(t, dir+"/f", 0o444)
			chown(t, f, otheruser.UID, 0)
			return f
		}, "chmod 600 $1; echo >>$1", []string{"uid 65534", "that user can change it", "Run: chown root "}},
		{"a file in a directory of mode 0777", files.Trusted, func(t *testing.T, dir string) string {
			return put(t, mkdir(t, dir+"/d", 0o777)+"/f", 0o600)
		}, "rm -f $1; echo >$1", []string{"/d, on the way to", "mode 0777", "can replace what is in it", "chmod go-w "}},
		{"a file below a directory of the other user's", files.Trusted, func(t *testing.T, dir string) string {
			mkdir(t, dir+"/d", 0o755)
			f := put(t, mkdir(t, dir+"/d/e", 0o755)+"/f", 0o600)
			chown(t, dir+"/d", otheruser.UID, 0)
			return f
		}, "cd $2/..; mv e x; mkdir e; echo >$1", []string{"/d, on the way to", "uid 65534", "Run: chown root ", "or keep the file elsewhere"}},
		{"a link of the other user's in a sticky directory", files.Trusted, func(t *testing.T, dir string) string {
			put(t, dir+"/real", 0o600)
			mkdir(t, dir+"/tmp", 0o777|fs.ModeSticky)
			otheruser.Do(t, "ln -s ../real $1/tmp/f", dir)
			return dir + "/tmp/f"
		}, "ln -sf /etc/hostname $1", []string{"/tmp/f", "uid 65534"}},
		{"a link to a file that others can write", files.Trusted, func(t *testing.T, dir string) string {
			put(t, dir+"/real", 0o666)
			if err := os.Symlink("real", dir+"/f"); err != nil {
				t.Fatal(err)
			}
			return dir + "/f"
		}, "echo >>$1", []string{"/real, on the way to", "mode 0666"}},
		{"a sticky directory that plugins are looked for in", files.Trusted, func(t *testing.T, dir string) string {
			return mkdir(t, dir+"/plugins", 0o777|fs.ModeSticky)
		}, "echo >$1/authz-plugin-x", []string{"mode 1777", "every user can write it"}},
		{"a secret of mode 0644", files.Secret, func(t *testing.T, dir string) string { return put(t, dir+"/f", 0o644) },
			"cat $1", []string{"mode 0644", "every user can read it", "Run: chmod go-rwx "}},
		{"a secret of a shared group", files.Secret, func(t *testing.T, dir string) string {
			f := put(t, dir+"/f", 0o640)
			chown(t, f, 0, shared)
			return f
		}, "cat $1", []string{"mode 0640", "group 65534", "chmod g-rwx "}},
		{"a secret as Kubernetes mounts it", files.Secret, func(t *testing.T, dir string) string {
			mkdir(t, dir+"/..2026", 0o755)
			put(t, dir+"/..2026/f", 0o644)
			if err := errors.Join(os.Symlink("..2026", dir+"/..data"), os.Symlink("..data/f", dir+"/f")); err != nil {
				t.Fatal(err)
			}
			chmod(t, dir, 0o777|fs.ModeSticky)
			return dir + "/f"
		}, "cat $1", []string{"mode 0644", "defaultMode: 0400"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := c.make(t, otheruser.Dir(t))
			expect(t, files.Judge(file, c.use), c.parts...)
			otheruser.Do(t, c.can, file, filepath.Dir(file))
		})
	}
}

func TestWhatOnlyTrustedUsersCanDoIsAccepted(t *testing.T) {
	dir := otheruser.Dir(t)
	link := func(to, name string) string {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	plain := put(t, dir+"/plain", 0o644)
	secret := put(t, dir+"/secret", 0o600)
	tmp := mkdir(t, dir+"/tmp", 0o777|fs.ModeSticky)
	cases := map[string]struct {
		path string
		use  files.Use
	}{
		"a file that others may read":             {plain, files.Trusted},
		"a secret":                                {secret, files.Secret},
		"the same file by a way around":           {dir + "/tmp/../secret", files.Secret},
		"a link to it":                            {link("secret", dir+"/link"), files.Secret},
		"a link to a link, absolute":              {link(dir+"/link", dir+"/link2"), files.Secret},
		"a file of ours in a sticky directory":    {put(t, tmp+"/f", 0o600), files.Secret},
		"a link of ours in a sticky directory":    {link("../secret", tmp+"/l"), files.Secret},
		"a directory":                             {dir, files.Trusted},
		"the root":                                {"/", files.Trusted},
		"a link that leads below another link":    {link(".", dir+"/here") + "/link", files.Secret},
		"a program of the system":                 {"/bin/sh", files.Trusted},
		"a relative path, with what is no letter": {relative(t, put(t, dir+"/it's", 0o600)), files.Secret},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { expect(t, files.Judge(c.path, c.use)) })
	}
	if os.Geteuid() == 0 { // as umask 002 leaves it, in root's own group
		expect(t, files.Judge(put(t, dir+"/group", 0o660), files.Secret))
	}
}

func relative(t *testing.T, path string) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	path, err = filepath.Rel(wd, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatCannotBeLookedAtIsAnErrorOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	if err := files.Judge(dir+"/none", files.Trusted); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
	if err := os.Symlink("loop", dir+"/loop"); err != nil {
		t.Fatal(err)
	}
	if err := files.Judge(dir+"/loop", files.Trusted); err == nil || files.IsExposed(err) {
		t.Errorf("a loop gave %v", err)
	}
	if err := files.Judge(put(t, dir+"/f", 0o600)+"/g", files.Trusted); err == nil || files.IsExposed(err) {
		t.Errorf("a file as a directory gave %v", err)
	}
}

// TestAPathIsShownReadyForTheShell: the command in the message is for pasting.
func TestAPathIsShownReadyForTheShell(t *testing.T) {
	dir := t.TempDir()
	expect(t, files.Judge(put(t, dir+"/it's mine", 0o644), files.Secret), `chmod go-rwx '`+dir+`/it'\''s mine'`)
}
