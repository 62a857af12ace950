package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// savedLogin is a key that login keeps for one org of one host.
type savedLogin struct {
	URL    string `json:"url"`
	Org    string `json:"org"`
	UserID string `json:"userId"`
	Token  string `json:"token"`
	CAFile string `json:"caFile,omitempty"` // absolute
}

// savedLogins are in the order in which they were made, the newest first.
type savedLogins struct {
	Logins []savedLogin `json:"logins"`
}

func credentialsFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", usageError{fmt.Errorf("there is no folder to keep credentials in: %w; use --token-file", err)}
	}
	return filepath.Join(dir, "authz", "credentials"), nil
}

// readLogins returns none when there is no file. It refuses one that others can
// read, before it reads it: what they may have read is not to be trusted with more.
func readLogins() (saved savedLogins, err error) {
	path, err := credentialsFile()
	if err != nil {
		return saved, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err != nil {
		return saved, usageError{err}
	}
	defer f.Close()
	if err := onlyOurs(f); err != nil {
		return saved, usageError{err}
	}
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(&saved); err != nil {
		return saved, usageError{fmt.Errorf("%s cannot be read (%w): delete it and log in again", path, err)}
	}
	return saved, nil
}

// onlyOurs refuses a file that others than its owner can read, and one in a folder
// where others could put another in its place.
func onlyOurs(f *os.File) error {
	if runtime.GOOS == "windows" { // modes say nothing there; the folder is the user's own
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is open to others (%s): they may have the keys in it. Revoke these ('authz key revoke'), then 'chmod 600 %s'", f.Name(), info.Mode(), f.Name())
	}
	dir := filepath.Dir(f.Name())
	if info, err = os.Stat(dir); err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is writable for others (%s): 'chmod 700 %s'", dir, info.Mode(), dir)
	}
	return nil
}

// changeLogins replaces the file by what change makes of it, whole or not at all.
func changeLogins(change func(*savedLogins)) error {
	saved, err := readLogins()
	if err != nil {
		return err
	}
	change(&saved)
	path, err := credentialsFile()
	if err != nil {
		return err
	}
	return keepJSON(path, saved)
}

// keepJSON replaces a file below the configuration folder, for the user alone to read.
func keepJSON(path string, value any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(body, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// put makes a login the newest, in the place of an older one of the same org.
func (s *savedLogins) put(l savedLogin) {
	s.remove(l.URL, l.Org)
	s.Logins = slices.Insert(s.Logins, 0, l)
}

func (s *savedLogins) remove(url, org string) {
	s.Logins = slices.DeleteFunc(s.Logins, func(l savedLogin) bool { return l.URL == url && l.Org == org })
}

// find is the login that a command means: the newest, or the one of the org and
// the host that it names.
func (s *savedLogins) find(url, org string) (savedLogin, error) {
	var found []savedLogin
	for _, l := range s.Logins {
		if (org == "" || l.Org == org) && (url == "" || l.URL == url) {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 0 && org == "":
		return savedLogin{}, usageError{errors.New("you are not logged in — run 'authz login --url URL --org ORG' with an admin key")}
	case len(found) == 0:
		return savedLogin{}, usageError{fmt.Errorf("you are not logged in to %s — run 'authz login --url URL --org %s' with an admin key", org, org)}
	case len(found) > 1 && org != "":
		return savedLogin{}, usageError{fmt.Errorf("you are logged in to %s at %d hosts, such as %s and %s: say which with --url", org, len(found), found[0].URL, found[1].URL)}
	}
	return found[0], nil
}
