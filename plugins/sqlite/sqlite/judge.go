package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/authzhost/authz/sdk/plugin"
)

// judgeFile finds what prepareFile would refuse, and makes nothing.
func judgeFile(path string) error {
	refuse := func(message string) error { return &plugin.ConfigError{Field: settingPath, Message: message} }
	path, err := filepath.Abs(path)
	if err != nil {
		return refuse("is no path")
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return refuse("the file cannot be read: " + reason(err))
	case !info.Mode().IsRegular():
		return refuse("is no regular file")
	case unix.Access(path, unix.R_OK|unix.W_OK) != nil:
		return refuse("the file cannot be read and written by this user")
	}
	dir := filepath.Dir(path)
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir) // what is missing is made
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return refuse("the directory cannot be entered: " + reason(err))
	case !info.IsDir():
		return refuse("the directory cannot be created: " + dir + " is no directory")
	case unix.Access(dir, unix.W_OK|unix.X_OK) != nil:
		return refuse("the directory " + dir + " cannot be written by this user")
	case onNetwork(dir):
		return refuse("the directory is on a network file system, whose locks do not hold")
	}
	return nil
}
