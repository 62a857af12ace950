package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/words"
)

// insecureAllowed is insecure_permissions of those commands that have no
// configuration yet.
func insecureAllowed() bool {
	return os.Getenv("AUTHZ_INSECURE_PERMISSIONS") == config.InsecureAllow
}

// ownDir makes a directory unless it is there, and refuses one that another user
// prepared or may write.
func ownDir(path string) error {
	dir, err := files.OpenDir(path, files.DirOptions{TrustWay: insecureAllowed()})
	if files.IsExposed(err) {
		return usageError{fmt.Errorf("%w; or set AUTHZ_INSECURE_PERMISSIONS=%s", err, config.InsecureAllow)}
	}
	if err != nil {
		return err
	}
	return dir.Close()
}

// ownSocket refuses a socket that nobody named and that any user may have put where
// commands look: they would believe its answers and send it what they write. The
// host may be another user's when its directory is where root makes those.
func ownSocket(path string) error {
	if insecureAllowed() {
		return nil
	}
	err := files.JudgeWay(filepath.Dir(path))
	var exposed *files.ExposedError
	if errors.As(err, &exposed) {
		// Nothing is to be changed: it may be right as it is, and another user's.
		return usageError{fmt.Errorf("the host there may be another user's: %s %s. Run the command as that user, such as by sudo -u, or name the host with --socket %s", exposed.Path, exposed.Why, words.Shell(path))}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nobody serves it, which the caller finds
	}
	return err
}
