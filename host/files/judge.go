package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Use says what other users must not do with a file.
type Use int

// The uses of files.
const (
	Trusted Use = iota // what is in it is believed or executed: others must not write it
	Secret             // nor read it
)

// ExposedError says that another user may write, or read, what the host relies on.
type ExposedError struct {
	Path string // of what is exposed: the file, or a directory on the way to it
	For  string // the file that was asked for
	Why  string // its owner and mode, and what follows
	Fix  string // what to do
}

func (e *ExposedError) Error() string {
	if e.Path == e.For {
		return fmt.Sprintf("%s %s. %s", e.Path, e.Why, e.Fix)
	}
	return fmt.Sprintf("%s, on the way to %s, %s. %s", e.Path, e.For, e.Why, e.Fix)
}

// Judge looks at a file or directory, at every directory above it and at every
// link on the way. Its errors are an *ExposedError, or why something cannot be
// looked at, such as fs.ErrNotExist.
//
// It goes from the root downwards, and each directory that it passed can be changed
// by trusted users only. So what it judged stays as it was judged for as long as
// these leave it alone, and may be opened by its path afterwards.
func Judge(path string, use Use) error {
	w := walk{asked: path}
	at, info, err := w.resolve(path)
	if err != nil {
		return err
	}
	return w.judgeEnd(at, info, use)
}

// JudgeWay is Judge without what stands at the end of the way: only users whom
// trusted ones let may have put it there.
func JudgeWay(path string) error {
	w := walk{asked: path}
	_, _, err := w.resolve(path)
	return err
}

// walk is one way from the root to a file.
type walk struct {
	asked    string
	trustWay bool // of directories on the way only links are judged
}

// maxLinks is how many symbolic links the system itself follows.
const maxLinks = 40

// resolve follows a path whose directories and links it judges, to where no link is.
func (w walk) resolve(path string) (string, fs.FileInfo, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", nil, err
	}
	const root = string(filepath.Separator)
	at, rest, links := root, parts(path), 0
	info, err := os.Lstat(at)
	if err != nil {
		return "", nil, err
	}
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			if info, err = os.Lstat(at); err != nil {
				return "", nil, err
			}
			continue
		}
		child := filepath.Join(at, name)
		found, err := os.Lstat(child)
		if err != nil {
			return "", nil, err
		}
		if err := w.judgeWay(at, info, found); err != nil {
			return "", nil, err
		}
		if found.Mode().Type() != fs.ModeSymlink {
			at, info = child, found
			continue
		}
		if w.trustWay && !trusted(ownerOf(found).uid) {
			return "", nil, w.foreign(child, found)
		}
		if links++; links > maxLinks {
			return "", nil, fmt.Errorf("%s: %w", w.asked, syscall.ELOOP)
		}
		target, err := os.Readlink(child)
		if err != nil {
			return "", nil, err
		}
		if descriptor(at, name) { // its target is text for people, and no path
			info, err := os.Stat(child)
			return child, info, err
		}
		rest = append(parts(target), rest...)
		if filepath.IsAbs(target) {
			at = root
		}
		if info, err = os.Lstat(at); err != nil {
			return "", nil, err
		}
	}
	return at, info, nil
}

func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator })
}

// descriptor tells the links of open files that Linux keeps, which /dev/stdin and
// a shell's <(…) lead to.
func descriptor(dir, name string) bool {
	return strings.HasPrefix(dir, "/proc/") && filepath.Base(dir) == "fd" && strings.Trim(name, "0123456789") == ""
}

// judgeWay refuses a directory in which others may put something else in the place
// of child. A sticky directory keeps them from that with what is not theirs.
func (w walk) judgeWay(dir string, info, child fs.FileInfo) error {
	if !info.IsDir() {
		return fmt.Errorf("%s: %w", dir, syscall.ENOTDIR)
	}
	if w.trustWay {
		return nil
	}
	if !trusted(ownerOf(info).uid) {
		return w.foreign(dir, info)
	}
	who := writers(dir, info)
	if who == "" {
		return nil
	}
	if info.Mode()&fs.ModeSticky == 0 {
		return w.exposed(dir, info, who+" can replace what is in it", "Run: chmod "+taken("w", who)+" "+quote(dir))
	}
	if !trusted(ownerOf(child).uid) {
		return w.foreign(filepath.Join(dir, child.Name()), child)
	}
	return nil
}

// judgeEnd refuses what others may write or, when it is secret, read. Sticky
// directories are no exception here: others may add files.
func (w walk) judgeEnd(path string, info fs.FileInfo, use Use) error {
	if !trusted(ownerOf(info).uid) {
		return w.foreign(path, info)
	}
	if who := writers(path, info); who != "" {
		right := "w"
		if use == Secret {
			right = "rwx"
		}
		return w.exposed(path, info, who+" can write it", "Run: chmod "+taken(right, who)+" "+quote(path))
	}
	if use != Secret {
		return nil
	}
	if who := readers(path, info); who != "" {
		change := taken("rwx", who)
		if ownerOf(info).uid != os.Geteuid() && who == everyone {
			change = "o-rwx" // this process reads it by the group
		}
		return w.exposed(path, info, who+" can read it", "Run: chmod "+change+" "+quote(path)+w.mountHint())
	}
	return nil
}

func (w walk) exposed(path string, info fs.FileInfo, what, fix string) error {
	return &ExposedError{Path: path, For: w.asked, Fix: fix,
		Why: fmt.Sprintf("has mode %04o and belongs to %s: %s", bits(info.Mode()), userName(ownerOf(info).uid), what)}
}

// foreign is about what belongs to another user, who may write it whatever its mode
// says now.
func (w walk) foreign(path string, info fs.FileInfo) error {
	fix := "Run: chown " + loginOf(os.Geteuid()) + " " + quote(path)
	if path != w.asked {
		fix += ", or keep the file elsewhere"
	}
	return w.exposed(path, info, "that user can change it", fix)
}

// mountHint says where the modes of mounted secrets come from.
func (w walk) mountHint() string {
	if target, err := os.Readlink(w.asked); err == nil && strings.HasPrefix(target, "..data/") {
		return ". In Kubernetes, set defaultMode: 0400 on the secret's volume"
	}
	if strings.HasPrefix(w.asked, "/run/secrets/") {
		return ". In Docker, set mode: 0400 on the service's secret"
	}
	return ""
}

// bits are a mode as chmod writes it.
func bits(m fs.FileMode) uint32 {
	n := uint32(m.Perm())
	for bit, value := range map[fs.FileMode]uint32{fs.ModeSticky: 0o1000, fs.ModeSetgid: 0o2000, fs.ModeSetuid: 0o4000} {
		if m&bit != 0 {
			n |= value
		}
	}
	return n
}

// taken is the symbolic mode that takes a right from who.
func taken(right, who string) string {
	if who == everyone {
		return "go-" + right
	}
	return "g-" + right
}

// quote makes a path one word of a shell.
func quote(path string) string {
	if strings.Trim(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+@%:,=") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// IsExposed reports whether err says that others may write or read something.
func IsExposed(err error) bool {
	var e *ExposedError
	return errors.As(err, &e)
}
