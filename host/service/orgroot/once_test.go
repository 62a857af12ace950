package orgroot

import (
	"errors"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

func TestOneRequestReadsAPrincipalsFreshRowsOnce(t *testing.T) {
	reads := 0
	read := func() (*authz.SubjectAccess, error) {
		if reads++; reads == 1 {
			return nil, errors.New("down")
		}
		return &authz.SubjectAccess{}, nil
	}
	request, u := WithOneReading(t.Context()), authz.UserPrincipal("u")
	if _, err := once(request, "acme", u, read); err == nil {
		t.Fatal("the failure was lost")
	}
	for range 3 {
		if _, err := once(request, "acme", u, read); err != nil || reads != 2 {
			t.Fatalf("%d reads, %v", reads, err)
		}
	}
	_, _ = once(request, "other", u, read)
	_, _ = once(request, "acme", authz.ServicePrincipal("u"), read)
	_, _ = once(WithOneReading(t.Context()), "acme", u, read)
	_, _ = once(t.Context(), "acme", u, read)
	if reads != 6 {
		t.Errorf("%d reads of what another org, principal or request asked", reads)
	}
}
