package plugin_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// versions strips the generators' own versions, which differ between machines
// without changing the wire.
var versions = regexp.MustCompile(`(?m)^//\s+-?\s*(protoc|protoc-gen-go|protoc-gen-go-grpc)\s+v.*$`)

func TestTheGeneratedCodeIsCurrent(t *testing.T) {
	path := os.Getenv("PATH")
	if out, err := exec.Command("go", "env", "GOPATH").Output(); err == nil {
		path += string(filepath.ListSeparator) + filepath.Join(string(bytes.TrimSpace(out)), "bin")
	}
	t.Setenv("PATH", path)
	for _, tool := range []string{"protoc", "protoc-gen-go", "protoc-gen-go-grpc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT CHECKED that the generated code is current: %s is not installed", tool)
		}
	}
	sources, err := filepath.Glob("proto/authz/plugin/v1/*.proto")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	dir := t.TempDir()
	args := append([]string{"-I", "proto", "--go_out=" + dir, "--go_opt=paths=source_relative",
		"--go-grpc_out=" + dir, "--go-grpc_opt=paths=source_relative"}, sources...)
	if out, err := exec.Command("protoc", args...).CombinedOutput(); err != nil {
		t.Fatalf("protoc: %v\n%s", err, out)
	}
	fresh, _ := filepath.Glob(dir + "/authz/plugin/v1/*.pb.go")
	committed, _ := filepath.Glob("proto/authz/plugin/v1/*.pb.go")
	if len(fresh) != len(committed) {
		t.Errorf("%d files are generated, %d committed", len(fresh), len(committed))
	}
	for _, file := range fresh {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("proto/authz/plugin/v1", filepath.Base(file)))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(versions.ReplaceAll(want, nil), versions.ReplaceAll(got, nil)) {
			t.Errorf("%s is not what its source says: run make proto", filepath.Base(file))
		}
	}
}
