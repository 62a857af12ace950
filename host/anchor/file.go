package anchor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/authzhost/authz/sdk/authz"
)

// mode of the file: an anchor that others may write proves nothing.
const mode = 0o600

// open opens the file to be appended to, and makes it when there is none. It is opened
// anew for every round, so that one which was moved away is not written unseen.
func open(path string) (*os.File, os.FileInfo, error) {
	_, err := os.Lstat(path)
	made := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, mode)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, fmt.Errorf("%s is a link: name the file itself", path)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = usable(path, info)
	}
	if err == nil && made {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func usable(path string, info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no plain file", path)
	case !ok || stat.Nlink != 1:
		return fmt.Errorf("%s has another name too (a hard link): anchors need a file of their own", path)
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to uid %d, and this host runs as uid %d: anchors need a file of the host's own", path, stat.Uid, os.Geteuid())
	case info.Mode().Perm()&^mode != 0:
		return fmt.Errorf("%s has mode %04o, so that others may use it: chmod 600 it, once its lines are known to be yours", path, info.Mode().Perm())
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// appendLines writes the lines and waits until they are on the disk. A line that a
// crash has torn is ended first.
func appendLines(f *os.File, size int64, anchors []authz.AuditAnchor) error {
	var text []byte
	if size > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			text = append(text, '\n')
		}
	}
	for _, a := range anchors {
		line, err := authz.Marshal(a)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}

// maxLine bounds a line that Read takes.
const maxLine = 64 << 10

// Read reads a file of anchors. bad are the numbers of lines that are none, such as one
// that a crash has torn.
func Read(r io.Reader) (anchors []authz.AuditAnchor, bad []int, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var a authz.AuditAnchor
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil || a.Log == "" || a.Count < 1 || a.Hash == "" {
			bad = append(bad, n)
			continue
		}
		anchors = append(anchors, a)
	}
	return anchors, bad, lines.Err()
}
