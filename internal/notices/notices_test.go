package notices_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/internal/notices"
)

func TestAPluginPrintsTheNotices(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "authz-plugin-memory")
	if out, err := exec.Command("go", "build", "-o", binary, "../../plugins/memory").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(binary, notices.Flag).Output(); err != nil || string(out) != notices.Text {
		t.Errorf("%v, %d bytes of %d", err, len(out), len(notices.Text))
	}
}
