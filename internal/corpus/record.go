package corpus

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("corpus", false, "write the recorded answers of the HTTP APIs anew")

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// compared are the headers that are part of an answer.
var compared = []string{"Content-Type", "Cache-Control", "X-Content-Type-Options", "Allow", "Retry-After", "WWW-Authenticate", "Location"}

// usual are their values that are not written down.
var usual = map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

// Record is the answers to a list of cases, as they are written down:
//
//	# what the case is
//	> the body that was sent
//	< the status, the headers that are unusual, the body that came back
//
// A body that no line can hold stands there as a Go string, a long one as its
// length and the beginning of its SHA-256.
type Record struct {
	blocks []string
	byCase map[string]string // block by its first two lines
}

// Add notes one answer. Requests of one record that are alike have one block.
func (r *Record) Add(c Case, a Answer) {
	if r.byCase == nil {
		r.byCase = map[string]string{}
	}
	question := "# " + oneLine(c.Name) + "\n> " + sent(c.Body) + "\n"
	block := question + "< " + a.String() + "\n"
	if r.byCase[question] == "" {
		r.blocks = append(r.blocks, block)
		r.byCase[question] = block
	}
}

// Beyond is the record without what another one holds just so.
func (r *Record) Beyond(other *Record) *Record {
	rest := &Record{byCase: r.byCase}
	same := 0
	for _, block := range r.blocks {
		if question := block[:strings.LastIndex(block, "\n< ")+1]; other.byCase[question] == block {
			same++
			continue
		}
		rest.blocks = append(rest.blocks, block)
	}
	rest.blocks = append(rest.blocks, fmt.Sprintf("# %d more are answered as over the network\n", same))
	return rest
}

// Append adds what another record holds.
func (r *Record) Append(other *Record) {
	r.blocks = append(r.blocks, other.blocks...)
}

// Differing are the cases that the other record holds otherwise, or not at all.
func (r *Record) Differing(other *Record) []string {
	var list []string
	for question, block := range r.byCase {
		if was := other.byCase[question]; was != block {
			list = append(list, block+"there:\n"+was)
		}
	}
	return list
}

// String is the answer in one line.
func (a Answer) String() string {
	parts := []string{strconv.Itoa(a.Status)}
	for _, name := range compared {
		values, wanted := a.Header[name], usual[name]
		if wanted != "" && len(values) == 1 && values[0] == wanted || wanted == "" && len(values) == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s=%q", name, values))
	}
	return strings.Join(append(parts, oneLine(a.Body)), " ")
}

// longest is how much of a request is written down in full.
const longest = 400

func sent(body string) string {
	if len(body) > longest {
		return fmt.Sprintf("%d bytes, %x", len(body), sha256.Sum256([]byte(body)))[:30]
	}
	return oneLine(body)
}

// oneLine leaves printable text as it is.
func oneLine(text string) string {
	if text != "" && utf8.ValidString(text) && text == strings.TrimSpace(text) && !strings.ContainsFunc(text, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return text
	}
	return strconv.Quote(text)
}

// shown is how many cases of a file are told that differ.
const shown = 5

// Compare holds the record to the file, or writes it.
func (r *Record) Compare(t *testing.T, file string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Join(r.blocks, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (-corpus records it)", err)
	}
	want := strings.Split(string(text), "\n\n")
	told := 0
	for i := range max(len(want), len(r.blocks)) {
		was, is := line(want, i), line(r.blocks, i)
		if was == is {
			continue
		}
		if told++; told <= shown {
			t.Errorf("%s\nrecorded:\n%s\nnow:\n%s", file, was, is)
		}
	}
	if told > shown {
		t.Errorf("%s: %d more differ", file, told-shown)
	}
}

func line(blocks []string, i int) string {
	if i >= len(blocks) {
		return "nothing"
	}
	return strings.TrimSuffix(blocks[i], "\n")
}

// Complete tells of files below dir that no test compared.
func Complete(t *testing.T, dir string, compared map[string]bool) {
	t.Helper()
	if *update {
		return
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !compared[path] {
			t.Errorf("%s is of no case", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
