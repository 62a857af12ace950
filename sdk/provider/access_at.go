package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// JointSupply is a provider that answers GetSubjectAccess and ResolveAncestors
// together, for less than two calls: what a check needs of which nothing is cached.
// What embeds one and changes either method has to change AccessAt as well.
type JointSupply interface {
	// AccessAt fails as GetSubjectAccess does. The failure of ResolveAncestors stands
	// in the answer: a principal that is not active is denied whatever lies above.
	AccessAt(ctx context.Context, p authz.Principal, scope string) (AccessAt, error)
}

// AccessAt is what a JointSupply answers.
type AccessAt struct {
	Access       authz.SubjectAccess
	Ancestors    []string
	AncestorsErr error
}
