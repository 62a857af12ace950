package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// Lookups answers who may, where and what (spec: lookups §1). Each list is told whole,
// page by page: a page's Next, where there is one, is the After of the one that follows.
// What is told was true when its page was read.
type Lookups interface {
	// ListSubjects lists who holds a key at a scope.
	ListSubjects(ctx context.Context, q SubjectsQuery) (SubjectsPage, error)

	// ListScopes lists the scopes at which a principal holds a key.
	ListScopes(ctx context.Context, q ScopesQuery) (ScopesPage, error)

	// ListKeys lists the keys that a principal holds at a scope.
	ListKeys(ctx context.Context, q KeysQuery) (KeysPage, error)
}

// MaxLookupPage is how many rows a page of a lookup holds where no limit is given, and at
// most.
const MaxLookupPage = 1000

// Continued bounds a page of a lookup, and says which page it goes on after.
type Continued struct {
	Limit int    `json:"limit,omitempty" read:"page" doc:"1000 where it is left out, and at most."`
	After string `json:"after,omitempty" doc:"The next of the page before."`
}

// SubjectsQuery asks who holds a key at a scope; "" means "*".
type SubjectsQuery struct {
	Key   string `json:"key" read:"required"`
	Scope string `json:"scope,omitempty" read:"target"`
	Continued
}

// SubjectsPage is a page of the subjects that hold a key.
type SubjectsPage struct {
	Subjects          []Holder `json:"subjects"`
	RequiresCondition bool     `json:"requiresCondition,omitempty"` // the application's condition comes on top
	Next              string   `json:"next,omitempty"`
}

// Holder is a subject that holds the key, or does not although others of its kind do.
// "everyone" and an org none of whose people is recorded are told as themselves.
type Holder struct {
	Subject string   `json:"subject"`
	By      []HeldBy `json:"by,omitempty"` // the live grants that confer the key on it

	// Implied: no grant lies on the chain of the scope; those of By lie below it.
	Implied bool `json:"implied,omitempty"`

	// Except says why this user does not hold what everyone holds. By is then empty.
	Except Exception `json:"except,omitempty"`
}

// Exception is why a user does not hold what everyone holds.
type Exception string

// The exceptions.
const (
	ExceptRevoked  Exception = "revoked"  // a revoke matches on the chain
	ExceptInactive Exception = "inactive" // the user's record is inactive
)

// HeldBy is a grant by which somebody holds a key. Through are the groups between the
// holder and the grant's subject, from one that the holder is a direct member of to
// that subject; empty where no group stands between.
type HeldBy struct {
	GrantID   string       `json:"grantId"`
	Subject   string       `json:"subject"`
	RoleID    string       `json:"roleId,omitempty"`
	Pattern   string       `json:"pattern,omitempty"`
	Scope     string       `json:"scope"`
	ExpiresAt authz.Expiry `json:"expiresAt,omitzero"`
	Through   []string     `json:"through,omitempty"`
}

// ScopesQuery asks at which scopes a principal holds a key.
type ScopesQuery struct {
	Principal authz.Principal `json:"principal,omitzero" read:"required"`
	Key       string          `json:"key" read:"required"`
	Continued
}

// Check refuses a principal that is nobody, or two.
func (q *ScopesQuery) Check() error { return q.Principal.Validate() }

// ScopesPage is a page of the scopes at which a principal holds a key. Expanded says
// that scopes below a granted one are among them, as far as their parents are recorded;
// without it the list is of granted scopes alone.
type ScopesPage struct {
	Scopes            []HeldScope `json:"scopes"`
	Expanded          bool        `json:"expanded"`
	RequiresCondition bool        `json:"requiresCondition,omitempty"`
	Next              string      `json:"next,omitempty"`
}

// HeldScope is a scope at which a key is held. "*" means that it is held everywhere but
// at and below the scopes of Except; the recorded scopes where it is held follow.
type HeldScope struct {
	Scope string `json:"scope"`

	// By are the ids of the grants on the scope's chain, or below it where Implied.
	By      []string `json:"by"`
	Implied bool     `json:"implied,omitempty"`
	Except  []string `json:"except,omitempty"`
}

// KeysQuery asks which keys a principal holds at a scope; "" means "*".
type KeysQuery struct {
	Principal authz.Principal `json:"principal,omitzero" read:"required"`
	Scope     string          `json:"scope,omitempty" read:"target"`
	Continued
}

// Check refuses a principal that is nobody, or two.
func (q *KeysQuery) Check() error { return q.Principal.Validate() }

// KeysPage is a page of the keys that a principal holds, in their order.
type KeysPage struct {
	Keys []HeldKey `json:"keys"`
	Next string    `json:"next,omitempty"`
}

// HeldKey is a key that is held at the scope.
type HeldKey struct {
	Key               string `json:"key"`
	Implied           bool   `json:"implied,omitempty"` // through grants below the scope alone
	RequiresCondition bool   `json:"requiresCondition,omitempty"`
}

const lookupNotes = "Every page is read anew. `unsupported` where the storage driver lacks the capability `lookups`."

var (
	opListSubjects = declare(Operation{Op: "listSubjects", Kind: Read, Method: "ListSubjects", Tag: "evaluation", Summary: "List who holds a key at a scope",
		Notes: "People come through the groups, orgs and managers that confer the key, then those with rows of their own. " + lookupNotes, Answer: "A page of the subjects."},
		func(ctx context.Context, to Provider, in *SubjectsQuery) (SubjectsPage, error) {
			return to.ListSubjects(ctx, *in)
		})
	opListScopes = declare(Operation{Op: "listScopes", Kind: Read, Method: "ListScopes", Tag: "evaluation", Summary: "List the scopes at which a principal holds a key",
		Notes: lookupNotes, Answer: "A page of the scopes."},
		func(ctx context.Context, to Provider, in *ScopesQuery) (ScopesPage, error) {
			return to.ListScopes(ctx, *in)
		})
	opListKeys = declare(Operation{Op: "listKeys", Kind: Read, Method: "ListKeys", Tag: "evaluation", Summary: "List the keys that a principal holds at a scope",
		Notes: lookupNotes, Answer: "A page of the keys."},
		func(ctx context.Context, to Provider, in *KeysQuery) (KeysPage, error) {
			return to.ListKeys(ctx, *in)
		})
)

func (c Calls) ListSubjects(ctx context.Context, q SubjectsQuery) (SubjectsPage, error) {
	return ask(ctx, c, opListSubjects, q)
}

func (c Calls) ListScopes(ctx context.Context, q ScopesQuery) (ScopesPage, error) {
	return ask(ctx, c, opListScopes, q)
}

// Explain is the operation explain.
func (c Calls) Explain(ctx context.Context, in Explain) (access.Explained, error) {
	return ask(ctx, c, opExplain, in)
}

func (c Calls) ListKeys(ctx context.Context, q KeysQuery) (KeysPage, error) {
	return ask(ctx, c, opListKeys, q)
}

// EverySubject is every page of ListSubjects. It ends with the first error.
func EverySubject(ctx context.Context, of Lookups, q SubjectsQuery) iter.Seq2[Holder, error] {
	return everyPage(&q.Continued, func() ([]Holder, string, error) {
		page, err := of.ListSubjects(ctx, q)
		return page.Subjects, page.Next, err
	})
}

// EveryScope is every page of ListScopes. It ends with the first error.
func EveryScope(ctx context.Context, of Lookups, q ScopesQuery) iter.Seq2[HeldScope, error] {
	return everyPage(&q.Continued, func() ([]HeldScope, string, error) {
		page, err := of.ListScopes(ctx, q)
		return page.Scopes, page.Next, err
	})
}

// EveryKey is every page of ListKeys. It ends with the first error.
func EveryKey(ctx context.Context, of Lookups, q KeysQuery) iter.Seq2[HeldKey, error] {
	return everyPage(&q.Continued, func() ([]HeldKey, string, error) {
		page, err := of.ListKeys(ctx, q)
		return page.Keys, page.Next, err
	})
}

func everyPage[Row any](at *Continued, read func() ([]Row, string, error)) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for {
			rows, next, err := read()
			if err != nil {
				yield(*new(Row), err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			at.After = next
		}
	}
}
