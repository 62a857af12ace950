package anchor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/authz"
)

// book is a log whose head a test moves.
type book struct {
	mu   sync.Mutex
	head authz.AuditAnchor
	err  error
}

func (b *book) set(count int64, hash string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.head, b.err = authz.AuditAnchor{Count: count, Hash: hash, Entry: authz.AuditCursor{At: count, ID: "e"}}, err
}

func (b *book) log(name string) Log {
	return Log{Name: name, Head: func(context.Context, authz.AuditAnchor) (authz.AuditAnchor, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.head, b.err
	}}
}

func options(file string, to *testlog.Log, logs ...Log) Options {
	return Options{File: file, Interval: time.Hour, Clock: func() int64 { return 1_800_000_000_000 },
		Logs:   func(context.Context) ([]Log, error) { return logs, nil },
		Logger: hclog.New(&hclog.LoggerOptions{Output: to})}
}

func begin(t *testing.T, o Options) *Anchors {
	t.Helper()
	a, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func end(t *testing.T, a *Anchors) {
	t.Helper()
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func anchored(t *testing.T, file string) (heads []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	anchors, bad, err := Read(bytes.NewReader(text))
	if err != nil || len(bad) > 0 {
		t.Fatalf("lines %v, %v of\n%s", bad, err, text)
	}
	for _, a := range anchors {
		heads = append(heads, a.Log+" "+a.Hash)
	}
	return heads
}

func expect(t *testing.T, file string, want ...string) {
	t.Helper()
	if got := anchored(t, file); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("anchored are %q, want %q", got, want)
	}
}

func TestALogThatHasGrownIsAnchoredAtTheEndToo(t *testing.T) {
	file, docs, acme, none := filepath.Join(t.TempDir(), "anchors"), &book{}, &book{}, &book{}
	logs := []Log{docs.log("application/docs"), acme.log("account/acme"), none.log("account/")}
	docs.set(1, "d1", nil)
	acme.set(1, "a1", nil)
	end(t, begin(t, options(file, &testlog.Log{}, logs...)))
	expect(t, file, "application/docs d1", "account/acme a1")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	a := begin(t, options(file, &testlog.Log{}, logs...)) // which remembers what was anchored
	docs.set(3, "d3", nil)
	end(t, a)
	expect(t, file, "application/docs d1", "account/acme a1", "application/docs d3")
}

func TestALineTornByACrashIsEndedFirst(t *testing.T) {
	file, docs := filepath.Join(t.TempDir(), "anchors"), &book{}
	if err := os.WriteFile(file, []byte(`{"log":"application/do`), 0o600); err != nil {
		t.Fatal(err)
	}
	docs.set(1, "d1", nil)
	log := &testlog.Log{}
	end(t, begin(t, options(file, log, docs.log("application/docs"))))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	anchors, bad, err := Read(bytes.NewReader(text))
	if err != nil || len(anchors) != 1 || len(bad) != 1 || bad[0] != 1 || !strings.Contains(log.String(), "lines that are no anchors") {
		t.Errorf("%v, lines %v, %v\n%s", anchors, bad, err, log.String())
	}
}

func TestWhatCannotBeReadKeepsNoOtherFromItsAnchor(t *testing.T) {
	file, docs, acme := filepath.Join(t.TempDir(), "anchors"), &book{}, &book{}
	docs.set(0, "", errors.New("no answer"))
	acme.set(2, "a2", &Altered{What: "it was cut"})
	log := &testlog.Log{}
	a := begin(t, options(file, log, docs.log("application/docs"), acme.log("account/acme")))
	if err := a.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "application/docs: no answer") {
		t.Errorf("%v", err)
	}
	expect(t, file, "account/acme a2")
	if !strings.Contains(log.String(), "was altered") || !strings.Contains(log.String(), "it was cut") {
		t.Errorf("told was\n%s", log.String())
	}
}

func TestAFileThatWentAwayBeginsWhole(t *testing.T) {
	file, docs := filepath.Join(t.TempDir(), "anchors"), &book{}
	docs.set(1, "d1", nil)
	end(t, begin(t, options(file, &testlog.Log{}, docs.log("application/docs"))))
	log := &testlog.Log{}
	a := begin(t, options(file, log, docs.log("application/docs")))
	a.stop()
	a.done.Wait()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	end(t, a)
	expect(t, file, "application/docs d1")
	if !strings.Contains(log.String(), "has lost lines") {
		t.Errorf("told was\n%s", log.String())
	}
}

func TestAFileThatIsNotTheHostsOwnIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		want string
		make func(file string) error
	}{
		"a link":                   {"is a link", func(f string) error { return os.Symlink(f+".other", f) }},
		"a second name":            {"another name", func(f string) error { return errors.Join(os.WriteFile(f+".other", nil, 0o600), os.Link(f+".other", f)) }},
		"a directory":              {"directory", func(f string) error { return os.Mkdir(f, 0o700) }},
		"a pipe":                   {"no plain file", func(f string) error { return syscall.Mkfifo(f, 0o600) }},
		"one that others may read": {"mode 0640", func(f string) error { return errors.Join(os.WriteFile(f, nil, 0o600), os.Chmod(f, 0o640)) }},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "anchors")
			if err := c.make(file); err != nil {
				t.Fatal(err)
			}
			_, err := Start(options(file, &testlog.Log{}))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "audit.anchor.file") {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("another user's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a file to another user")
		}
		file := filepath.Join(t.TempDir(), "anchors")
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chown(file, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		if _, err := Start(options(file, &testlog.Log{})); err == nil || !strings.Contains(err.Error(), "belongs to uid 65534") {
			t.Errorf("%v", err)
		}
	})
}
