package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

// The line breaks once half of what an earlier reading took has come over it, and not
// again after Resume.
func TestALineThatIsCutMidway(t *testing.T) {
	const said = 1 << 20
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	go func() {
		for {
			c, err := far.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(bytes.Repeat([]byte("x"), said))
			_ = c.Close()
		}
	}()
	r, err := newRelay(far.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	heard := func() int64 {
		t.Helper()
		c, err := net.Dial("tcp", r.near)
		if errors.Is(err, syscall.ECONNRESET) {
			return 0 // the cut came before the dial returned
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		n, _ := io.Copy(io.Discard, c)
		return n
	}
	for range 2 {
		if n := heard(); n != said {
			t.Fatalf("%d bytes of %d", n, said)
		}
	}
	cut, err := r.CutMidway(2)
	if err != nil || cut() {
		t.Fatalf("cut before anything was said: %v", err)
	}
	if n := heard(); n >= said || !cut() {
		t.Errorf("%d bytes of %d were told, cut: %t", n, said, cut())
	}
	if c, err := net.Dial("tcp", r.near); err == nil {
		_ = c.Close()
		t.Error("a line that is cut was dialled")
	}
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	if n := heard(); n != said {
		t.Errorf("%d bytes of %d after the line was back", n, said)
	}
}

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
