package main

import (
	"bytes"
	"io"
	"net"
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
