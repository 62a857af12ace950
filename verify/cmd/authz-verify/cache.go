package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/authzhost/authz/verify"
)

// keptMemories is how many memories a cache directory keeps: one for each state of
// catalog and configuration that one goes to and fro between.
const keptMemories = 16

const memorySuffix = ".authz-verify"

// memory holds what each source file said, under everything else that the answer
// depends on: the program, the configuration, the catalog, manifest and owners'
// documents. A file's answer is reused while its content is the same. Whoever can
// write to the directory can say what is found.
type memory struct {
	path   string
	before map[string]answer

	mu      sync.Mutex
	after   map[string]answer
	reading map[string][]byte // contents that were hashed and are about to be scanned
}

// answer is what a file of that content said.
type answer struct {
	Content string            `json:"content"` // SHA-256, hex
	Report  verify.FileReport `json:"report"`
}

// remember opens the memory for a subject. A damaged one is as good as none.
func remember(dir string, s *subject) (*memory, error) {
	program, err := programHash()
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(s.config)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	sum := sha256.New()
	add(sum, program)
	add(sum, settings)
	for _, path := range slices.Sorted(maps.Keys(s.documents)) {
		add(sum, []byte(path))
		add(sum, s.documents[path])
	}
	m := &memory{
		path:  filepath.Join(dir, hex.EncodeToString(sum.Sum(nil))+memorySuffix),
		after: map[string]answer{}, reading: map[string][]byte{},
	}
	if raw, err := os.ReadFile(m.path); err == nil && len(raw) > sha256.Size {
		sum := sha256.Sum256(raw[sha256.Size:])
		if bytes.Equal(sum[:], raw[:sha256.Size]) && json.Unmarshal(raw[sha256.Size:], &m.before) != nil {
			m.before = nil
		}
	}
	return m, nil
}

// add takes a part with its length, so that no two lists of parts run together into
// the same bytes.
func add(sum hash.Hash, part []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(part)))
	sum.Write(length[:])
	sum.Write(part)
}

// programHash tells builds apart, which may judge differently.
func programHash() ([]byte, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}

// around reads the file once: the content that is hashed is the one that is scanned.
func (m *memory) around(file string, scan func() (verify.FileReport, error)) (verify.FileReport, error) {
	info, err := os.Stat(file)
	var content []byte
	if err == nil && info.Mode().IsRegular() && info.Size() <= verify.MaxSourceBytes {
		content, err = os.ReadFile(file)
	}
	if err != nil || content == nil {
		return scan() // which words the error
	}
	sum := sha256.Sum256(content)
	said := answer{Content: hex.EncodeToString(sum[:])}
	if known, ok := m.before[file]; ok && known.Content == said.Content {
		said = known
	} else {
		m.mu.Lock()
		m.reading[file] = content
		m.mu.Unlock()
		if said.Report, err = scan(); err != nil {
			return said.Report, err
		}
	}
	m.mu.Lock()
	m.after[file] = said
	m.mu.Unlock()
	return said.Report, nil
}

// read hands a file's content to the scan.
func (m *memory) read(file string) ([]byte, error) {
	m.mu.Lock()
	content, ok := m.reading[file]
	delete(m.reading, file)
	m.mu.Unlock()
	if ok {
		return content, nil
	}
	return verify.ReadFile(file)
}

// keep writes the memory when it changed, and removes the oldest others.
func (m *memory) keep() error {
	same := func(a, b answer) bool { return a.Content == b.Content }
	if m.before != nil && maps.EqualFunc(m.before, m.after, same) {
		return nil
	}
	body, err := json.Marshal(m.after)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	if err := replaceFile(m.path, append(sum[:], body...)); err != nil {
		return err
	}
	return prune(filepath.Dir(m.path))
}

// prune removes the memories that were written longest ago, and nothing else.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	written := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), memorySuffix) {
			written[e.Name()] = info.ModTime()
		}
	}
	names := slices.SortedFunc(maps.Keys(written), func(a, b string) int { return written[b].Compare(written[a]) })
	for _, old := range names[min(len(names), keptMemories):] {
		if err := os.Remove(filepath.Join(dir, old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing an old answer: %w", err)
		}
	}
	return nil
}
