package storage

import (
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// FoundPage resumes and bounds found grants: strictly after a place in their order, where a
// grant need not be. After.ID "" starts at the beginning.
type FoundPage struct {
	After authz.GrantPlace
	Limit int
}

// CheckGrantOrder refuses an order that there is not.
func CheckGrantOrder(o authz.GrantOrder) error {
	if !o.Known() {
		return Errorf(CodeValidation, "%s is no order of grants", spell.Quote(string(o)))
	}
	return nil
}
