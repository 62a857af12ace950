package authztest

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// bare refuses a subject where an id is wanted: user:ann for ann is another user, of whom
// no row of the world would ever say anything.
func bare(what string, ids ...string) error {
	for _, id := range ids {
		if kind, rest, misplaced := authz.MisplacedSubject(id); misplaced {
			return fmt.Errorf("%s names the bare id: write %s, without the kind %s before it", what, rest, spell.Quote(string(kind)))
		}
	}
	return nil
}

// bareSubject is bare for the id of a subject.
func bareSubject(subject string) error {
	kind, id, ok := authz.ParseSubject(subject)
	if !ok || id == "" {
		return nil
	}
	if _, rest, misplaced := authz.MisplacedSubject(id); misplaced {
		return fmt.Errorf("%s names a kind twice: write %s", spell.Quote(subject), authz.SubjectOf(kind, rest))
	}
	return nil
}

// supply is the application as a world's client asks it. It takes a principal whose id has
// a kind before it for the mistake that it is: it would be denied, and nothing would say why.
type supply struct{ *application.Application }

func (s supply) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	if err := bareIDs(p); err != nil {
		return authz.SubjectAccess{}, err
	}
	return s.Application.GetSubjectAccess(ctx, p)
}

func (s supply) AccessAt(ctx context.Context, p authz.Principal, scope string) (provider.AccessAt, error) {
	if err := bareIDs(p); err != nil {
		return provider.AccessAt{}, err
	}
	return s.Application.AccessAt(ctx, p, scope)
}

func bareIDs(p authz.Principal) error {
	if err := bare("a principal", p.UserID, p.ServiceID); err != nil {
		return &authz.InvalidPrincipalError{Message: err.Error()}
	}
	return nil
}
