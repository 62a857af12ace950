package freeport

import (
	"net"
	"runtime"
	"strconv"
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
		if runtime.GOOS == "linux" {
			_, port, _ := net.SplitHostPort(address)
			if n, err := strconv.Atoi(port); err != nil || keep(n) == nil {
				t.Fatalf("%s could be chosen by another process (%v)", address, err)
			}
		}
		// As a server of two lives does.
		before, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		before.Close()
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
