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
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/authzhost/authz/internal/testprocess"
)

// URIVariable names a server to test against.
const URIVariable = "AUTHZ_TEST_MONGODB_URI"

// Server is a running server.
type Server struct {
	// URI is its connection string, without a database.
	URI string

	// Real reports that the server was given, not built.
	Real bool

	process *testprocess.Process // nil when it was given
}

// Start returns a server. The error says why there is none: tests that need one
// are to be skipped with it, loudly.
func Start() (*Server, error) {
	if uri := os.Getenv(URIVariable); uri != "" {
		return &Server{URI: uri, Real: true}, nil
	}
	binary, err := testprocess.Build("plugins/mongo/testserver")
	if err != nil {
		return nil, fmt.Errorf("the MongoDB-compatible test server cannot be built (set %s to use another): %w", URIVariable, err)
	}
	process, err := testprocess.Start(binary)
	if err != nil {
		return nil, err
	}
	return &Server{URI: process.Line, process: process}, nil
}

// Stop ends the server that Start built.
func (s *Server) Stop() error {
	if s.process == nil {
		return nil
	}
	return s.process.Stop()
}

// Database is a name that no other test uses.
func Database() string { return "authz_" + strings.ToLower(rand.Text()[:16]) }
