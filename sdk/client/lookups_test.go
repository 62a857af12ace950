package client

import (
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

// A provider that supplies rows and lists nothing answers with an error, not with no rows.
func TestListsOfAProviderWithoutLookupsAreUnsupported(t *testing.T) {
	c, told := coldClient(t, pair{}), 0
	for holder, err := range c.WhoCan(t.Context(), "docs.files.read", "") {
		if told++; authz.CodeOf(err) != authz.CodeUnsupported || holder.Subject != "" {
			t.Errorf("%+v, %v", holder, err)
		}
	}
	for key, err := range c.WhatCan(t.Context(), authz.UserPrincipal("u"), "") {
		if told++; authz.CodeOf(err) != authz.CodeUnsupported || key.Key != "" {
			t.Errorf("%+v, %v", key, err)
		}
	}
	for scope, err := range c.WhereCan(t.Context(), authz.UserPrincipal("u"), "docs.files.read") {
		if told++; authz.CodeOf(err) != authz.CodeUnsupported || scope.Scope != "" {
			t.Errorf("%+v, %v", scope, err)
		}
	}
	if told != 3 {
		t.Errorf("%d of three lists told an error", told)
	}
}
