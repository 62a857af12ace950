package provider_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func TestRowsAreHandedOverAsTheyArrive(t *testing.T) {
	enough := errors.New("enough")
	for name, c := range map[string]struct {
		status    int
		body      string
		stop      bool
		ids       []string
		code      authz.Code
		transport bool
	}{
		"a list":                     {200, `{"next":"b","roles":[{"id":"a"},{"id":"b"}],"more":1}`, false, []string{"a", "b"}, "", false},
		"the reader's error":         {200, `{"roles":[{"id":"a"},{"id":"b"}]}`, true, []string{"a"}, "", false},
		"an error midway":            {200, `{"roles":[{"id":"a"}],"error":{"name":"ProviderWriteRejectedError","code":"conflict","message":"m"}}`, false, []string{"a"}, authz.CodeConflict, false},
		"a refusal":                  {404, `{"error":{"name":"ProviderWriteRejectedError","code":"not_found","message":"m"}}`, false, nil, authz.CodeNotFound, false},
		"an answer that was cut":     {200, `{"roles":[{"id":"a"},`, false, []string{"a"}, "", true},
		"a row of another shape":     {200, `{"roles":[{"id":"a"},7]}`, false, []string{"a"}, "", true},
		"an answer without the list": {200, `{"groups":[]}`, false, nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answering(c.status, c.body))
			t.Cleanup(server.Close)
			var ids []string
			err := provider.Rows(context.Background(), &provider.Caller{Base: server.URL}, "listRoles", nil, "roles", func(r authz.Role) error {
				ids = append(ids, r.ID)
				if c.stop {
					return enough
				}
				return nil
			})
			var transport *provider.TransportError
			if !slices.Equal(ids, c.ids) || authz.CodeOf(err) != c.code || errors.As(err, &transport) != c.transport || errors.Is(err, enough) != c.stop {
				t.Errorf("rows %v, %v", ids, err)
			}
		})
	}
}
