package compiled

import (
	"testing"
	"unsafe"
)

// What lies in one cache line does so by its size.
func TestAccessFillsWholeLines(t *testing.T) {
	var a Access
	if size := unsafe.Sizeof(a); size != 256 {
		t.Errorf("%d bytes", size)
	}
	if end := unsafe.Offsetof(a.arena) + unsafe.Sizeof(a.arena); end > 64 {
		t.Errorf("the global question reads %d bytes", end)
	}
}
