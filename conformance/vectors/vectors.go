package vectors

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

//go:embed *.jsonl EXCEPTIONS.md
var files embed.FS

// The environment of a replay.
const (
	// DirEnv names a directory whose files are read instead of the embedded
	// ones.
	DirEnv = "AUTHZ_VECTORS"

	// ReportEnv names a file to which each replay appends its summary line.
	ReportEnv = "AUTHZ_TEST_VECTORS_REPORT"
)

// Wording tells whether reasons and messages are compared too. The project has made the
// wording of its own copy its own; elsewhere it informs.
func Wording() bool { return os.Getenv(DirEnv) == "" }

// maxLine bounds one case.
const maxLine = 64 << 20

// Replay runs one subtest for each line of the file, named by the case's id or
// else by its line, and reports "<file>: N passed, N failed". covers says whether
// the project can replay a case yet; nil means all. A case with a member that Case
// does not name fails, for what the member asks would not be asked; in a folder
// that is not the project's own it is told only. One that panics fails alone. Cases listed in EXCEPTIONS.md may fail.
func Replay[Case any](t *testing.T, file string, covers func(Case) bool, run func(*testing.T, Case)) {
	t.Helper()
	lines := given(t, file)
	excepted := exceptions(file)
	passed, failed := 0, 0
	for n, line := range lines {
		var head struct {
			ID string `json:"id"`
		}
		var c Case
		if err := json.Unmarshal(line, &c); err != nil {
			t.Errorf("%s line %d: %v", file, n+1, err)
			failed++
			continue
		}
		_ = json.Unmarshal(line, &head) // a case without an id goes by its line
		name := head.ID
		if name == "" {
			name = fmt.Sprintf("line%d", n+1)
		}
		if covers != nil && !covers(c) {
			continue
		}
		if reason, ok := excepted[name]; ok {
			t.Logf("%s %s is excepted: %s", file, name, reason)
			continue
		}
		if t.Run(name, func(t *testing.T) { guarded(t, line, c, run) }) {
			passed++
		} else {
			failed++
		}
	}
	if passed+failed == 0 && os.Getenv(DirEnv) != "" {
		t.Skipf("SKIPPED: %s holds no case of this kind", file)
	}
	if passed+failed == 0 {
		t.Errorf("%s: no case was replayed", file)
	}
	summary := fmt.Sprintf("%s: %d passed, %d failed", file, passed, failed)
	t.Log(summary)
	if err := report(summary); err != nil {
		t.Errorf("vectors: %v", err)
	}
}

// guarded runs one case of which every member is known.
func guarded[Case any](t *testing.T, line []byte, c Case, run func(*testing.T, Case)) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	switch err := Known[Case](line); {
	case err != nil && os.Getenv(DirEnv) != "":
		t.Logf("it asks something that is not asked here, or remarks something: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	run(t, c)
}

// Known refuses a case that has members which Case does not name, but for those
// that only tell people about it.
func Known[Case any](line []byte) error {
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return err
	}
	delete(members, "id")
	withoutRemarks(members)
	rest, err := json.Marshal(members)
	if err != nil {
		return err
	}
	d = json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	return d.Decode(new(Case))
}

func withoutRemarks(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			withoutRemarks(item)
		}
	case map[string]any:
		for _, remark := range []string{"tag", "exotic", "note"} {
			delete(v, remark)
		}
		for _, member := range v {
			withoutRemarks(member)
		}
	}
}

// Cases decodes every line of the file, for tests that use the cases as worlds and
// ask questions of their own.
func Cases[Case any](t *testing.T, file string) []Case {
	t.Helper()
	lines := given(t, file)
	cases := make([]Case, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal(line, &cases[i]); err != nil {
			t.Errorf("%s line %d: %v", file, i+1, err) // the others are read all the same
		}
	}
	return cases
}

// given are the lines of a file; of a folder that was named, a file may be absent.
func given(t *testing.T, file string) [][]byte {
	t.Helper()
	lines, err := read(file)
	if dir := os.Getenv(DirEnv); dir != "" && errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED: %s holds no %s", dir, file)
	}
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	return lines
}

func read(file string) ([][]byte, error) {
	var data []byte
	var err error
	if dir := os.Getenv(DirEnv); dir != "" {
		data, err = os.ReadFile(filepath.Join(dir, file))
	} else {
		data, err = files.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	var lines [][]byte
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, maxLine)
	for scan.Scan() {
		if line := bytes.TrimSpace(scan.Bytes()); len(line) > 0 {
			lines = append(lines, bytes.Clone(line))
		}
	}
	return lines, scan.Err()
}

// exceptions reads the rows "| file | case | reason |" of EXCEPTIONS.md.
func exceptions(file string) map[string]string {
	found := map[string]string{}
	text, err := files.ReadFile("EXCEPTIONS.md")
	if err != nil {
		return found
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.TrimSpace(cells[1]) == file {
			found[strings.TrimSpace(cells[2])] = strings.TrimSpace(cells[3])
		}
	}
	return found
}

func report(summary string) error {
	path := os.Getenv(ReportEnv)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.WriteString(f, summary+"\n")
	return err
}
