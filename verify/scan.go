package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/authzhost/authz/internal/spell"
)

// MaxSourceBytes bounds one source: what parses is many times as large in memory.
const MaxSourceBytes = 16 << 20

// SourceError is a source that cannot be read: no file, no permission, too large,
// nested too deep.
type SourceError struct {
	File string
	Err  error
}

func (e *SourceError) Error() string {
	reason := e.Err
	var path *os.PathError
	if errors.As(reason, &path) {
		reason = path.Err // the path is said already
	}
	return fmt.Sprintf("cannot read source %s: %v", spell.Echo(e.File), reason)
}
func (e *SourceError) Unwrap() error { return e.Err }

var errTooLarge = fmt.Errorf("larger than %d MiB", MaxSourceBytes>>20)

// Scanner reads files by one configuration. It is safe for concurrent use.
type Scanner struct {
	config    Config
	judge     *Judge
	gates     map[string]bool
	visible   map[string]bool
	forbidden map[string]bool
	server    []*regexp.Regexp

	candidates candidates
	declared   declared // with Exports

	// readAll turns the test that a file can hold a finding off.
	readAll bool

	// inspect has functions looked into, and leaves what was found to Propose.
	inspect bool
}

// NewScanner checks the configuration; its Files are not read here. The error is
// an *OptionError or a *PatternError.
func NewScanner(config Config) (*Scanner, error) {
	judge, err := NewJudge(config)
	if err != nil {
		return nil, err
	}
	server, err := compile(orDefault(config.ServerFilePatterns, DefaultServerFilePatterns()))
	if err != nil {
		return nil, err
	}
	s := &Scanner{
		config: config, judge: judge, server: server,
		gates:     setOf(orDefault(config.GateNames, DefaultGateNames())),
		visible:   setOf(orDefault(config.VisibilityNames, DefaultVisibilityNames())),
		forbidden: setOf(config.ForbidClientIdentifiers),
	}
	if config.Exports != nil {
		if s.declared, err = newDeclared(config.Exports); err != nil {
			return nil, err
		}
	}
	s.candidates = newCandidates(s.gates, s.visible, s.forbidden)
	return s, nil
}

// ReadFile reads a source; what is too large or no regular file is refused unread.
func ReadFile(file string) ([]byte, error) { return appendFile(nil, file) }

// appendFile appends a source to a buffer.
func appendFile(buffer []byte, file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return buffer, err
	case info.Mode().IsRegular() && info.Size() > MaxSourceBytes:
		return buffer, errTooLarge
	case !info.Mode().IsRegular():
		return buffer, errors.New("not a regular file") // a pipe would hang the run
	}
	f, err := os.Open(file)
	if err != nil {
		return buffer, err
	}
	defer func() { _ = f.Close() }()
	for buffer = slices.Grow(buffer, int(info.Size())+1); ; buffer = slices.Grow(buffer, 1) {
		n, err := f.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if err == io.EOF {
			return buffer, nil
		}
		if err != nil {
			return buffer, err
		}
	}
}

// buffers hold sources for as long as they are looked through: what is parsed is
// copied.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// ScanFile reads one file. The error is a *SourceError.
func (s *Scanner) ScanFile(file string) (FileReport, error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	var text []byte
	var err error
	if s.config.Read != nil {
		text, err = s.config.Read(file)
	} else {
		*buffer, err = appendFile((*buffer)[:0], file)
		text = *buffer
	}
	if err == nil && len(text) > MaxSourceBytes {
		err = errTooLarge
	}
	if err == nil {
		var r FileReport
		if r, err = s.scanText(file, text); err == nil {
			return r, nil
		}
	}
	return FileReport{}, &SourceError{File: file, Err: err}
}

// scanAll scans the files in parallel and returns their reports in order.
func (s *Scanner) scanAll(ctx context.Context) ([]FileReport, error) {
	files := s.config.Files
	workers := s.config.Parallel
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	reports, errs := make([]FileReport, len(files)), make([]error, len(files))
	var next atomic.Int64
	var failed atomic.Bool
	var progress sync.Mutex
	done := 0
	work := func() {
		for !failed.Load() && ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(files) {
				return
			}
			if reports[i], errs[i] = s.scanOne(files[i]); errs[i] != nil {
				// Files before this one are with a worker already, so that the first
				// error in order is always found.
				failed.Store(true)
			}
			if s.config.Progress != nil {
				progress.Lock()
				done++
				s.config.Progress(done)
				progress.Unlock()
			}
		}
	}
	var wg sync.WaitGroup
	for range min(workers, len(files)) {
		wg.Go(work)
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	if s.config.Exports != nil && !s.inspect && ctx.Err() == nil {
		s.concludeExports(reports)
	}
	return reports, ctx.Err()
}

func (s *Scanner) scanOne(file string) (FileReport, error) {
	if s.config.Around == nil {
		return s.ScanFile(file)
	}
	return s.config.Around(file, func() (FileReport, error) { return s.ScanFile(file) })
}

func slashed(file string) string { return filepath.ToSlash(file) }

func (s *Scanner) isServerPath(file string) bool {
	path := slashed(file)
	for _, re := range s.server {
		if re.MatchString(path) {
			return true
		}
	}
	return false
}
