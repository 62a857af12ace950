package freeport

import (
	"net"
	"testing"
)

// An outgoing connection must never be given the port that a process is about to
// listen at.
func TestPortsAreFreeDistinctAndNotForOutgoingConnections(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		address, err := Address()
		if err != nil {
			t.Fatal(err)
		}
		if seen[address] {
			t.Fatalf("%s was given twice", address)
		}
		seen[address] = true
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if port := l.Addr().(*net.TCPAddr).Port; port >= ephemeral() {
			t.Errorf("%d may be an outgoing connection's, which begin at %d", port, ephemeral())
		}
	}
}
