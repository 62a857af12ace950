package pluginhost_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/pluginhost"
)

// BenchmarkStart starts the memory plugin, pinned and not, and stops it again.
func BenchmarkStart(b *testing.B) {
	path := filepath.Join(binaries, "authz-plugin-memory")
	program, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("the binary has %d bytes", len(program))
	for name, sum := range map[string]string{"unpinned": "", "pinned": fmt.Sprintf("%x", sha256.Sum256(program))} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				h, err := pluginhost.New(pluginhost.Options{RunDir: b.TempDir(), Logger: hclog.NewNullLogger()})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := h.Start(b.Context(), pluginhost.Spec{Name: "main", Plugin: path, SHA256: sum}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := h.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
