package pluginhost

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/authzhost/authz/host/files"
)

// image is what one process executes. Of a pinned plugin it is what was hashed,
// whatever happens to the file at the plugin's path.
type image struct {
	file string   // executed
	open *os.File // that file stands for it, until the process has started; nil if none
	copy string   // its name below the run directory, "" when it is no copy there
}

// started lets go of what only the start needs.
func (i *image) started() {
	if i.open != nil {
		_ = i.open.Close() // it was only read
	}
}

// runningImage is how Linux names the program that runs: another file at its path
// is not it, and it cannot be written while it runs.
const runningImage = "/proc/self/exe"

// image judges who may write the program, and verifies its checksum. It is made for
// each process anew, restarts included.
func (p *Plugin) image() (image, error) {
	if err := p.judge(); err != nil {
		return image{}, err
	}
	want, err := pin(p.spec.SHA256, p.host.opts.RequireChecksum)
	if err != nil {
		return image{}, err
	}
	if want == nil {
		return image{file: p.prog.file}, nil
	}
	source, err := os.Open(p.prog.file)
	if err != nil {
		return image{}, fmt.Errorf("it cannot be read: %w", err)
	}
	defer source.Close()
	if p.prog.file == runningImage {
		return image{file: runningImage}, compare(source, want)
	}
	made, err := p.copied(source)
	if err != nil {
		return image{}, err
	}
	if err := compare(made.open, want); err != nil {
		made.started()
		p.remove(made)
		return image{}, err
	}
	return made, nil
}

// judge refuses a program that other users may write or replace.
func (p *Plugin) judge() error {
	if p.prog.file == runningImage {
		return nil
	}
	return p.host.exposed(p.spec.Name, files.Judge(p.prog.file, files.Trusted))
}

// exposed turns what other users may write into a warning where that is allowed.
func (h *Host) exposed(plugin string, err error) error {
	if files.IsExposed(err) {
		if h.opts.InsecurePermissions {
			h.log.Warn("an exposed plugin is run, because insecure_permissions allows it", "plugin", plugin, "exposed", err)
			return nil
		}
		return fmt.Errorf("%w; or set `insecure_permissions: allow`", err)
	}
	return err
}

// pin decodes a checksum; nil is none.
func pin(text string, required bool) ([]byte, error) {
	if text == "" {
		if required {
			return nil, errors.New("its configuration has no sha256, and `plugins.require_checksum` refuses plugins without one")
		}
		return nil, nil
	}
	want, err := hex.DecodeString(text)
	if err != nil || len(want) != sha256.Size {
		return nil, fmt.Errorf("its sha256 must be %d hexadecimal digits", 2*sha256.Size)
	}
	return want, nil
}

// compare hashes a file from its beginning.
func compare(file *os.File, want []byte) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, 1<<62)); err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	if got := sum.Sum(nil); !bytes.Equal(got, want) {
		return fmt.Errorf("its sha256 is %x, the configuration pins %x: the binary is another one than was approved", got, want)
	}
	return nil
}

var elfMagic = []byte("\x7fELF")

// copied is a copy that nobody else can write: in sealed memory where the system
// can execute that, else in the run directory. A script is never executed from
// memory: its interpreter opens it by name when the descriptor is closed already.
func (p *Plugin) copied(source *os.File) (image, error) {
	begin := make([]byte, len(elfMagic))
	if _, err := source.ReadAt(begin, 0); err != nil && !errors.Is(err, io.EOF) {
		return image{}, fmt.Errorf("it cannot be read: %w", err)
	}
	if bytes.Equal(begin, elfMagic) {
		switch sealed, err := sealedCopy(source, filepath.Base(p.prog.path)); {
		case err == nil:
			return image{file: "/proc/self/fd/" + strconv.Itoa(int(sealed.Fd())), open: sealed}, nil
		case !errors.Is(err, errors.ErrUnsupported):
			return image{}, fmt.Errorf("it cannot be copied into memory: %w", err)
		}
	}
	return p.copiedToDisk(source)
}

// copiedToDisk keeps forks away while the copy is open for writing: a child that
// inherited that descriptor would make executing it fail as busy.
func (p *Plugin) copiedToDisk(source *os.File) (image, error) {
	sockets := p.host.sockets
	if noexec(sockets.dir) {
		return image{}, fmt.Errorf("it is pinned and runs from a copy in the run directory, but %s is on a file system mounted noexec: choose another `run_dir`", sockets.dir)
	}
	made := image{copy: filepath.Join(socketsName, "copy-"+strconv.FormatUint(p.host.copies.Add(1), 10))}
	made.file = filepath.Join(filepath.Dir(sockets.dir), made.copy)
	syscall.ForkLock.RLock()
	to, err := sockets.run.OpenFile(made.copy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o500)
	if err == nil {
		_, err = io.Copy(to, source)
		err = errors.Join(err, to.Close())
	}
	syscall.ForkLock.RUnlock()
	if err == nil {
		made.open, err = sockets.run.Open(made.copy)
	}
	if err != nil {
		p.remove(made)
		return image{}, fmt.Errorf("it cannot be copied into the run directory: %w", err)
	}
	return made, nil
}

// remove removes the copy that a process ran from, if there is one. What cannot be
// removed goes with the directory.
func (p *Plugin) remove(i image) {
	if i.copy == "" {
		return
	}
	if err := p.host.sockets.run.Remove(i.copy); err != nil && !errors.Is(err, os.ErrNotExist) {
		p.host.log.Warn("a plugin's copy could not be removed", "plugin", p.spec.Name, "error", err)
	}
}
