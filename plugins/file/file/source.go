package file

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	maxFiles    = 1000
	maxSettling = 20 // times that a file is waited for
)

// The formats, and the ends of the names of their files.
const (
	formatCSV  = "csv"
	formatJSON = "json"
	formatLDIF = "ldif"
)

var formats = []string{formatCSV, formatJSON, formatLDIF}

// read takes the files of the source as they stood together at one moment: none
// changed, came or went between the first look and the last.
func (o *Options) read(ctx context.Context) (format string, docs []*document, err error) {
	format, paths, err := o.files()
	if err != nil {
		return "", nil, err
	}
	left := o.MaxBytes
	infos := make([]fs.FileInfo, len(paths))
	for i, path := range paths {
		var text []byte
		if text, infos[i], err = o.readOne(ctx, path, left); err != nil {
			return "", nil, err
		}
		left -= int64(len(text))
		d, err := newDocument(path, text)
		if err != nil {
			return "", nil, err
		}
		docs = append(docs, d)
	}
	again, names, err := o.files()
	if err != nil || again != format || !slices.Equal(names, paths) {
		return "", nil, unavailable(err, "%s: files came or went while they were read", spell.Echo(o.Path))
	}
	for i, path := range paths {
		if err := unchanged(path, infos[i]); err != nil {
			return "", nil, err
		}
	}
	return format, docs, nil
}

// files lists what is to be read, in the order of names.
func (o *Options) files() (format string, paths []string, err error) {
	info, err := os.Stat(o.Path)
	if err != nil {
		return "", nil, unavailable(err, "%s cannot be read: %s", spell.Echo(o.Path), reason(err))
	}
	if !info.IsDir() {
		if len(o.Files) > 0 {
			return "", nil, authz.Validation("%s is no folder, in which %s could be", spell.Echo(o.Path), settingFiles)
		}
		format, err = o.formatOf([]string{o.Path})
		return format, []string{o.Path}, err
	}
	if len(o.Files) > 0 {
		for _, name := range o.Files {
			paths = append(paths, filepath.Join(o.Path, name))
		}
		format, err = o.formatOf(paths)
		return format, paths, err
	}
	entries, err := os.ReadDir(o.Path)
	if err != nil {
		return "", nil, unavailable(err, "%s cannot be read: %s", spell.Echo(o.Path), reason(err))
	}
	for _, e := range entries {
		ending := extension(e.Name())
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() || !slices.Contains(formats, ending) || o.Format != "" && ending != o.Format {
			continue
		}
		paths = append(paths, filepath.Join(o.Path, e.Name()))
	}
	switch {
	case len(paths) == 0:
		return "", nil, authz.Validation("%s holds no file of the formats %s", spell.Echo(o.Path), strings.Join(formats, ", "))
	case len(paths) > maxFiles:
		return "", nil, authz.Validation("%s holds more than %d files", spell.Echo(o.Path), maxFiles)
	}
	format, err = o.formatOf(paths)
	return format, paths, err
}

// formatOf is the format that is configured, else the one that all names end with.
func (o *Options) formatOf(paths []string) (string, error) {
	if o.Format != "" {
		return o.Format, nil
	}
	format := extension(paths[0])
	if !slices.Contains(formats, format) {
		return "", authz.Validation("%s: its name does not tell its format: set %s", spell.Echo(paths[0]), settingFormat)
	}
	for _, p := range paths[1:] {
		if extension(p) != format {
			return "", authz.Validation("%s and %s are of two formats: set %s", spell.Echo(paths[0]), spell.Echo(p), settingFormat)
		}
	}
	return format, nil
}

func extension(path string) string {
	return strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
}

// readOne reads a file that has stood still for a while.
func (o *Options) readOne(ctx context.Context, path string, limit int64) ([]byte, fs.FileInfo, error) {
	info, err := o.settled(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > limit {
		return nil, nil, authz.Validation("%s: the files are larger than %s (%d)", spell.Echo(path), settingMaxBytes, o.MaxBytes)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, unavailable(err, "%s cannot be read: %s", spell.Echo(path), reason(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, info.Size()+1))
	if err != nil {
		return nil, nil, unavailable(err, "%s cannot be read: %s", spell.Echo(path), reason(err))
	}
	opened, err := f.Stat()
	if err != nil || !same(opened, info) || int64(len(text)) != info.Size() {
		return nil, nil, moved(path, err)
	}
	return text, info, nil
}

// settled waits until a file has not changed for the settling time: who writes a
// file in place leaves it half-written in between.
func (o *Options) settled(ctx context.Context, path string) (fs.FileInfo, error) {
	var before fs.FileInfo
	for range maxSettling {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, unavailable(err, "%s cannot be read: %s", spell.Echo(path), reason(err))
		case !info.Mode().IsRegular():
			return nil, authz.Validation("%s is no file", spell.Echo(path))
		}
		wait := o.Settle - time.Since(info.ModTime())
		if wait > o.Settle { // of the future, by another clock: it must stand still in sight
			if before != nil && same(info, before) {
				return info, nil
			}
			wait = o.Settle
		}
		if wait <= 0 {
			return info, nil
		}
		before = info
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, unavailable(ctx.Err(), "the reading was stopped before its end")
		}
	}
	return nil, unavailable(nil, "%s is being written without a pause of %s (%s)", spell.Echo(path), o.Settle, settingSettle)
}

// unchanged wants the file that was read still in its place, as it was.
func unchanged(path string, was fs.FileInfo) error {
	info, err := os.Stat(path)
	if err != nil || !same(info, was) {
		return moved(path, err)
	}
	return nil
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func moved(path string, err error) error {
	return unavailable(errors.Join(err), "%s changed or was replaced while it was read", spell.Echo(path))
}
