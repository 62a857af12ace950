package lookup

import (
	"context"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Lists answers lookups from what an application has. All members are required, but for
// Recorded.
type Lists struct {
	Vocabulary *compiled.Vocabulary
	Store      storage.Store
	Clock      func() int64

	// Access supplies the rows of a principal.
	Access func(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error)

	// Ancestors answers the ancestors of a scope, judged as for a check.
	Ancestors func(ctx context.Context, scope string) ([]string, error)

	// Recorded answers them of recorded parents, which parentsOf reads level by level; nil
	// where parents are not recorded, so that nothing below a scope is known.
	Recorded func(scope string, parentsOf func(level []string) (map[string][]string, error)) ([]string, error)

	// Flat says that no scope lies below another one, but for "*".
	Flat bool

	// Groups are the parents of every group.
	Groups func(ctx context.Context) (map[string][]string, error)
}

// able refuses what the storage driver cannot list.
func (l *Lists) able() error {
	if l.Store.Info().Capabilities.Has(storage.CapLookups) {
		return nil
	}
	return authz.Rejected(authz.CodeUnsupported,
		"lists of who may, and where, need a storage driver with the capability %q", storage.CapLookups)
}

// known refuses a key that no check may name.
func (l *Lists) known(key string) error {
	if l.Vocabulary.Catalog().HasKey(key) {
		return nil
	}
	return l.Vocabulary.Catalog().UnknownPermission(key, authz.ExpectedKey)
}

// limit is how many rows a page holds.
func limit(asked int) (int, error) {
	switch {
	case asked < 0:
		return 0, authz.Validation("limit must be at least 1")
	case asked == 0 || asked > provider.MaxLookupPage:
		return provider.MaxLookupPage, nil
	}
	return asked, nil
}

// maxExamined is how many candidates a page looks at: it then ends, full or not.
const maxExamined = 2 * chunk

// extent is how far a page has come.
type extent struct {
	limit, told, examined int
	cut                   bool // before the list's end
}

// wanted is how many rows more the page takes.
func (e *extent) wanted() int { return e.limit - e.told }

// batch is how many candidates are read and judged at once: what the page may take, and
// more where few of them were told.
func (e *extent) batch() int { return min(chunk, max(64, e.wanted(), e.examined)) }

// largePage is the limit from which a page goes without its last tenth, where these rows
// need another read: the next page would read almost all of that again.
const largePage = 256

// enough is how many rows end a page before the next read.
func (e *extent) enough() int {
	if e.limit >= largePage {
		return e.limit - e.limit/10
	}
	return e.limit
}

// over ends the page where it has what it can take. It is asked before anything is read
// of which the page might tell nothing.
func (e *extent) over() bool {
	e.cut = e.cut || e.told >= e.enough() || e.examined >= maxExamined
	return e.cut
}

// question is a key, and what decides it.
type question struct {
	*Lists
	key       string
	implied   bool // grants below answer above
	condition bool
	now       int64
	extent    *extent
}

func (l *Lists) question(key string) (*question, error) {
	if err := l.known(key); err != nil {
		return nil, err
	}
	q := &question{Lists: l, key: key, now: l.Clock()}
	if leaf, ok := l.Vocabulary.Catalog().Leaf(key); ok {
		q.implied, q.condition = leaf.ImpliedOnAncestors, leaf.RequiresCondition
	}
	return q, nil
}

// conferring are those of the grants that confer the key where they lie, whoever has
// them.
func (q *question) conferring(grants []authz.Grant, roles []authz.Role) []authz.Grant {
	closure := make([]string, len(grants))
	for i := range grants {
		closure[i] = grants[i].Subject
	}
	return access.Conferring(q.Vocabulary.Catalog(), &authz.SubjectAccess{Closure: closure, Grants: grants, Roles: roles}, q.key, q.now)
}

func (q *question) suppresses(r *authz.Revoke) bool { return authz.Match(r.Pattern, q.key) }
