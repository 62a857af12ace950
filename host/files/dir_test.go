package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/otheruser"
)

func open(t *testing.T, path string, o files.DirOptions) *files.Dir {
	t.Helper()
	d, err := files.OpenDir(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestADirectoryThatAnotherUserPreparedIsRefused: nothing is created or removed
// below it, nor where it leads.
func TestADirectoryThatAnotherUserPreparedIsRefused(t *testing.T) {
	otheruser.Need(t)
	cases := []struct {
		name  string
		make  string // done by the other user; $1 is a sticky directory, $2 one of ours
		want  string // part of the error
		after string // what the other user can do then
	}{
		{"its own directory", "mkdir $1/authz", "uid 65534", "echo >$1/authz/x"},
		{"its own directory, open to all", "mkdir -m 777 $1/authz", "uid 65534", "echo >$1/authz/x"},
		{"a link to a directory of ours", "ln -s $2 $1/authz", "uid 65534", "ln -sfn /etc $1/authz"},
		{"a link to nothing yet", "ln -s $2/new $1/authz", "uid 65534", "true"},
		{"a file", "echo >$1/authz", "uid 65534", "true"},
		{"a directory above it", "mkdir -m 777 $1/authz; cd $1; mv authz x; mkdir -p authz; ln -s $2 authz/run; rm -r x", "uid 65534", "true"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tmp := otheruser.Sticky(t)
			mine := mkdir(t, otheruser.Dir(t)+"/mine", 0o700)
			otheruser.Do(t, c.make, tmp, mine)
			for _, below := range []string{"", "/run", "/run/deep"} {
				for _, o := range []files.DirOptions{{}, {Private: true}, {TrustWay: true}} {
					if o.TrustWay && below != "" {
						continue // which is what it says
					}
					_, err := files.OpenDir(tmp+"/authz"+below, o)
					if err == nil {
						t.Errorf("%q %+v: it was opened", below, o)
					} else if below == "" && !strings.Contains(err.Error(), c.want) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTDIR) {
						t.Errorf("%q %+v: %v", below, o, err)
					}
				}
			}
			if left, err := os.ReadDir(mine); err != nil || len(left) > 0 {
				t.Errorf("made elsewhere: %v %v", left, err)
			}
			otheruser.Do(t, c.after, tmp, mine)
		})
	}
}

func TestADirectoryIsMadeForThisUserAlone(t *testing.T) {
	dir := otheruser.Dir(t)
	d := open(t, dir+"/a/b", files.DirOptions{Private: true})
	for _, path := range []string{dir + "/a", dir + "/a/b"} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	if d.Path() != dir+"/a/b" {
		t.Errorf("path %s", d.Path())
	}
	open(t, dir+"/a/b", files.DirOptions{Private: true}) // again
	if err := os.Symlink("a", dir+"/link"); err != nil { // of our own
		t.Fatal(err)
	}
	if d := open(t, dir+"/link/b", files.DirOptions{}); d.Path() != dir+"/a/b" {
		t.Errorf("through a link of ours: %s", d.Path())
	}
}

func TestModesOfADirectory(t *testing.T) {
	dir := otheruser.Dir(t)
	for mode, want := range map[fs.FileMode][2]bool{0o700: {true, true}, 0o755: {true, false}, 0o777: {false, false}, 0o777 | fs.ModeSticky: {false, false}} {
		path := mkdir(t, filepath.Join(dir, mode.String()), mode)
		for i, private := range []bool{false, true} {
			d, err := files.OpenDir(path, files.DirOptions{Private: private})
			if err == nil {
				d.Close()
			}
			if (err == nil) != want[i] {
				t.Errorf("mode %v, private %v: %v", mode, private, err)
			} else if err != nil && !strings.Contains(err.Error(), "Run: chmod ") {
				t.Errorf("mode %v: %v", mode, err)
			}
		}
	}
}

// TestTheWayMayBeTrusted: below a directory of another user's, as a root in a
// container finds what is mounted there.
func TestTheWayMayBeTrusted(t *testing.T) {
	otheruser.Need(t)
	above := otheruser.Dir(t)
	chown(t, above, otheruser.UID, otheruser.UID)
	if _, err := files.OpenDir(above+"/run", files.DirOptions{}); !files.IsExposed(err) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(above + "/run"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made before that: %v", err)
	}
	open(t, above+"/run", files.DirOptions{TrustWay: true})
}

func TestALockIsHeldOnceAndIsNoLink(t *testing.T) {
	dir := otheruser.Dir(t)
	d := open(t, dir, files.DirOptions{})
	held, ok, err := d.Lock("x.lock")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, ok, err := open(t, dir, files.DirOptions{}).Lock("x.lock"); ok || err != nil {
		t.Errorf("a second time: %v %v", ok, err)
	}
	held.Close()
	again, ok, err := d.Lock("x.lock")
	if err != nil || !ok {
		t.Error("after it was let go:", ok, err)
	}
	again.Close()
	if err := os.Symlink("precious", dir+"/y.lock"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Lock("y.lock"); err == nil {
		t.Error("a link was followed")
	}
	if _, err := os.Lstat(dir + "/precious"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made elsewhere: %v", err)
	}
}
