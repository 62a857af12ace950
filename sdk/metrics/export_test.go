package metrics

import (
	"testing"
	"time"
)

// Patient has checks wait for their observers as a test must that tells what each was
// given, and whose machine may be busy for longer than a check waits.
func Patient(t *testing.T) {
	before := observerTimeout
	observerTimeout = time.Minute
	t.Cleanup(func() { observerTimeout = before })
}
