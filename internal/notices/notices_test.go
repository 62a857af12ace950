package notices_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/internal/testprocess"
)

func TestAPluginPrintsTheNotices(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "authz-plugin-memory")
	if err := testprocess.BuildAs(binary, "plugins/memory"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary, notices.Flag).Output(); err != nil || string(out) != notices.Text {
		t.Errorf("%v, %d bytes of %d", err, len(out), len(notices.Text))
	}
}
