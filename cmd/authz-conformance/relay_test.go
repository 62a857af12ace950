package main

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// A cut gives the port up and a resumption takes it again: meanwhile no outgoing
// connection may be given it.
func TestARelayCanAlwaysTakeItsPortAgain(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Skip("the range of ports for outgoing connections is not told here")
	}
	var first, last int
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		r, err := newRelay("127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		near, err := net.ResolveTCPAddr("tcp", r.near)
		if err != nil || near.Port >= first && near.Port <= last {
			t.Fatalf("%s is within %d to %d, %v", r.near, first, last, err)
		}
		if err := r.Cut(); err != nil {
			t.Fatal(err)
		}
		if err := r.Resume(); err != nil {
			t.Fatal(err)
		}
	}
}
