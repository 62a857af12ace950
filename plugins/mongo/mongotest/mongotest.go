// Package mongotest gives tests a MongoDB-compatible server: the one that
// AUTHZ_TEST_MONGODB_URI names, or FerretDB over SQLite, built from the module
// testserver and run as a child that ends with the test process. SQLite was chosen
// over FerretDB's PostgreSQL backend because it needs no second server.
//
// FerretDB is not MongoDB: what only a replica set does (majorities, elections,
// retried writes) is not proved by it, and its lookups by a compound _id are scans.
// The package is for tests and holds nothing that the product uses.
package mongotest

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// URIVariable names a server to test against.
const URIVariable = "AUTHZ_TEST_MONGODB_URI"

// Server is a running server.
type Server struct {
	// URI is its connection string, without a database.
	URI string

	// Real reports that the server was given, not built.
	Real bool

	child *exec.Cmd
	stdin io.Closer
}

// Start returns a server. The error says why there is none: tests that need one
// are to be skipped with it, loudly.
func Start() (*Server, error) {
	if uri := os.Getenv(URIVariable); uri != "" {
		return &Server{URI: uri, Real: true}, nil
	}
	binary, err := build()
	if err != nil {
		return nil, fmt.Errorf("the MongoDB-compatible test server cannot be built (set %s to use another): %w", URIVariable, err)
	}
	s := &Server{child: exec.Command(binary)}
	s.child.Stderr = os.Stderr
	if s.stdin, err = s.child.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.child.Start(); err != nil {
		return nil, err
	}
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		lines <- strings.TrimSpace(line)
	}()
	select {
	case s.URI = <-lines:
	case <-time.After(time.Minute):
	}
	if s.URI == "" {
		_ = s.child.Process.Kill()
		return nil, errors.Join(errors.New("the test server did not become ready"), s.child.Wait())
	}
	return s, nil
}

// Stop ends the server that Start built.
func (s *Server) Stop() error {
	if s.child == nil {
		return nil
	}
	_ = s.stdin.Close()
	return s.child.Wait()
}

// Database is a name that no other test uses.
func Database() string { return "authz_" + strings.ToLower(rand.Text()[:16]) }

// build compiles the server unless the same sources were compiled before.
func build() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the sources cannot be found")
	}
	plugin := filepath.Dir(filepath.Dir(file))
	source := filepath.Join(plugin, "testserver")
	sum := sha256.New()
	for _, pattern := range []string{"*.go", "go.mod", "go.sum"} {
		files, err := filepath.Glob(filepath.Join(source, pattern))
		if err != nil {
			return "", err
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return "", err
			}
			sum.Write(b)
		}
	}
	cache := filepath.Join(filepath.Dir(filepath.Dir(plugin)), "bin", "test")
	binary := filepath.Join(cache, "mongo-testserver-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	// Two test processes may build at once: each renames a file of its own.
	fresh := binary + "." + rand.Text()
	defer os.Remove(fresh)
	cmd := exec.Command("go", "build", "-o", fresh, ".")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, os.Rename(fresh, binary)
}
