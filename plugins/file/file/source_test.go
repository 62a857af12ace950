package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/plugins/file/file"
	"github.com/authzhost/authz/plugins/internal/importertest"
)

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	csv := write(t, dir, "people.csv", "user_id\nann\n")
	two := t.TempDir()
	write(t, two, "a.csv", "user_id,active\nann,true\n")
	write(t, two, "b.csv", "user_id\nbob\n")
	mixed := t.TempDir()
	write(t, mixed, "a.csv", "user_id\nann\n")
	write(t, mixed, "b.json", `{"users":[]}`)
	for _, c := range []struct {
		name     string
		change   func(*file.Options)
		rejected bool
		words    string
	}{
		{"no file", func(o *file.Options) { o.Path = csv + "x" }, false, "no such file"},
		{"an empty folder", func(o *file.Options) { o.Path = t.TempDir() }, true, "holds no file of the formats"},
		{"a name without a format", func(o *file.Options) { o.Path = write(t, t.TempDir(), "people", "user_id\nann\n") }, true, "set format"},
		{"two formats", func(o *file.Options) { o.Path = mixed }, true, "two formats"},
		{"two kinds of people", func(o *file.Options) { o.Path = two }, true, "columns differ"},
		{"a file that is missing", func(o *file.Options) { o.Path, o.Files = dir, []string{"people.csv", "groups.csv"} }, false, "groups.csv cannot be read: no such file"},
		{"names in a file", func(o *file.Options) { o.Files = []string{"people.csv"} }, true, "is no folder"},
		{"a folder for a file", func(o *file.Options) {
			o.Path, o.Files = filepath.Dir(dir), []string{filepath.Base(dir)}
			o.Format = "csv"
		}, true, "is no file"},
		{"too many bytes", func(o *file.Options) { o.MaxBytes = 5 }, true, "max_bytes"},
		{"too many bytes in two files", func(o *file.Options) { o.Path, o.MaxBytes = two, 30 }, true, "max_bytes"},
		{"no end of it", func(o *file.Options) { o.Path, o.Format = "/dev/zero", "csv" }, true, "is no file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := at(csv)
			c.change(&o)
			fails(t, o, c.rejected, c.words)
		})
	}
}

func TestFormatsAndFilesCanBeChosen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.csv", "user_id\nann\n")
	write(t, dir, "b.json", `{"users":[{"userId":"bob"}]}`)
	write(t, dir, "c.json", `{"users":[{"userId":"cyd"}],"orgs":{}}`)
	for want, change := range map[string]func(*file.Options){
		"ann":     func(o *file.Options) { o.Format = "csv" },
		"bob cyd": func(o *file.Options) { o.Format = "json" },
		"cyd":     func(o *file.Options) { o.Files = []string{"c.json"} },
	} {
		o := at(dir)
		change(&o)
		got, err := read(t.Context(), open(t, o))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, u := range got.Users {
			ids = append(ids, u.UserID)
		}
		if strings.Join(ids, " ") != want {
			t.Errorf("%q, want %s", ids, want)
		}
	}
}

// Who replaces a file by renaming never shows a half: each reading is one of the two,
// or says that the file moved.
func TestAFileThatIsReplacedWhileItIsRead(t *testing.T) {
	dir := t.TempDir()
	versions := [2]string{"user_id\n" + strings.Repeat("a\n", 20_000), "user_id\n" + strings.Repeat("b\n", 30_000)}
	path := write(t, dir, "people.csv", versions[0])
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; !stop.Load(); n++ {
			fresh := filepath.Join(dir, ".fresh")
			if err := errors.Join(os.WriteFile(fresh, []byte(versions[n%2]), 0o600), os.Rename(fresh, path)); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(n%40) * time.Millisecond) // for a reading in between
		}
	}()
	i := open(t, at(path))
	wantOne := func(got importertest.Reading) {
		t.Helper()
		for _, u := range got.Users {
			if u.UserID != got.Users[0].UserID {
				t.Fatal("a mixture of both was read")
			}
		}
		if want := map[string]int{"a": 20_000, "b": 30_000}[got.Users[0].UserID]; len(got.Users) != want {
			t.Fatalf("%d people, want %d", len(got.Users), want)
		}
	}
	whole := 0
	for began := time.Now(); time.Since(began) < 2*time.Second; {
		got, err := read(t.Context(), i)
		if err != nil {
			if !strings.Contains(err.Error(), "changed or was replaced") {
				t.Error(err)
			}
			continue
		}
		whole++
		wantOne(got)
	}
	stop.Store(true)
	<-done
	t.Logf("%d readings were whole", whole)
	got, err := read(t.Context(), i) // now nothing is in its way
	if err != nil {
		t.Fatal(err)
	}
	wantOne(got)
}

// A file that is written in place, line by line, is waited for, also when its server's
// clock is ahead.
func TestAFileThatIsBeingWrittenIsWaitedFor(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"by this clock": 0, "by one ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := write(t, t.TempDir(), "people.csv", "user_id\nann\n")
				touch(t, path, ahead)
				go func() {
					for range 10 {
						time.Sleep(300 * time.Millisecond)
						appendTo(t, path, "bob\n")
						touch(t, path, ahead)
					}
				}()
				o := file.Defaults(path)
				o.Settle = 500 * time.Millisecond
				time.Sleep(time.Millisecond) // the two never look and write at once
				began := time.Now()
				got, err := read(t.Context(), open(t, o))
				if err != nil || len(got.Users) != 11 {
					t.Errorf("%d people, %v", len(got.Users), err)
				}
				if waited := time.Since(began); waited > 5*time.Second {
					t.Errorf("the file was waited for %v after its last line", waited-3*time.Second)
				}
			})
		})
	}
}

// touch sets when a file was changed to now, by a clock that is ahead.
func touch(t *testing.T, path string, ahead time.Duration) {
	t.Helper()
	now := time.Now().Add(ahead)
	if err := os.Chtimes(path, now, now); err != nil {
		t.Error(err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Error(err)
	}
}

func TestAFileThatNeverRestsIsNotRead(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"by this clock": 0, "by one ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := write(t, t.TempDir(), "people.csv", "user_id\nann\n")
				touch(t, path, ahead)
				ctx, cancel := context.WithCancel(t.Context())
				var touching sync.WaitGroup
				touching.Go(func() {
					for ctx.Err() == nil {
						time.Sleep(30 * time.Millisecond)
						touch(t, path, ahead)
					}
				})
				defer touching.Wait()
				defer cancel()
				o := file.Defaults(path)
				o.Settle = 200 * time.Millisecond
				time.Sleep(time.Millisecond)
				fails(t, o, false, "is being written without a pause")

				stopped, stop := context.WithCancel(t.Context())
				time.AfterFunc(50*time.Millisecond, stop)
				o.Settle = time.Minute
				if _, err := read(stopped, open(t, o)); err == nil || !strings.Contains(err.Error(), "stopped") {
					t.Error(err)
				}
			})
		})
	}
}
