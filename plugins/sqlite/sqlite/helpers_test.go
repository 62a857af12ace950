package sqlite_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func outcomeOf(err error) authz.Outcome {
	var e *storage.Error
	if errors.As(err, &e) {
		return e.Outcome
	}
	return ""
}

func errorsOf(errs ...error) error { return errors.Join(errs...) }

// content is what a partition holds, in a line.
func content(t *testing.T, s storage.Store) string {
	t.Helper()
	grants, err := s.CountGrants(t.Context(), storage.GrantFilter{})
	head, headErr := s.Head(t.Context())
	audit := 0
	for _, listErr := range s.ListAudit(t.Context(), storage.AuditFilter{}) {
		err = errors.Join(err, listErr)
		audit++
	}
	if err := errors.Join(err, headErr); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d grants, %d audit entries, head %d", grants, audit, head.Seq)
}
