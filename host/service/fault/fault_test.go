package fault_test

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/host/service/fault"
)

func TestADenialCutsTextOfTheCaller(t *testing.T) {
	scope := "cloud.app:" + strings.Repeat("x", 4000)
	e := fault.Denied("forbidden", "cloud.applications.read", scope, nil)
	if len(e.Message) > 300 || strings.Contains(fault.Denied("forbidden", "k", "a\nb", nil).Message, "\n") {
		t.Errorf("the message is %q", e.Message)
	}
}
