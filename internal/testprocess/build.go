package testprocess

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Build makes the program in a folder of the repository, whose module may be one of its
// own. All tests share the file, which go build leaves alone while it is up to date:
// it is linked once, for scripts/conformance too, and is not to be written to.
func Build(folder string) (binary string, err error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the sources cannot be found")
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	binary = filepath.Join(root, "bin", "test", strings.ReplaceAll(folder, "/", "-"))
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return "", err
	}
	// Of two that build at once, one waits.
	lock, err := os.OpenFile(binary+".lock", os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-C", filepath.Join(root, folder), "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags=-w", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", folder, err, out)
	}
	return binary, nil
}

// BuildAs makes the program as a file of the caller's, who may do with it what it likes.
func BuildAs(path, folder string) error {
	binary, err := Build(folder)
	if err != nil {
		return err
	}
	// A process that copies keeps the file from being open for writing in a child of
	// this one, which the kernel does not let anybody run.
	if out, err := exec.Command("cp", binary, path).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
