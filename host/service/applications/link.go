package applications

import (
	"context"
	"errors"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/secret"
)

// change runs fn in the section of the org's entries, again when what it read had
// changed by its commit.
func (e *Entries) change(ctx context.Context, org string, fn func(context.Context) error) error {
	return e.store.Exclusive(ctx, section(org), func(ctx context.Context) error {
		return account.Retry(func() error { return fn(ctx) })
	})
}

// Steady runs fn while no application of the org comes or goes: what is written
// about one must not land beside its deletion, and be left to whoever takes its id
// or a namespace next.
func (e *Entries) Steady(ctx context.Context, org string, fn func(context.Context) error) error {
	return e.store.Exclusive(ctx, section(org), fn)
}

// Link is a link that was made. ProviderSecret is shown this once; nil for a local
// application, which has none, and when Withheld.
type Link struct {
	Application    Application
	ProviderSecret *string
	Withheld       bool // the link was made by an earlier run of the same work
}

// Link links an application, or links it again with another URL and secret:
// application_not_found, relay_url_rejected, application_mismatch,
// invalid_transition, cap_reached. The first application linked becomes the org's primary one.
func (e *Entries) Link(ctx context.Context, actor, org, id, relayURL string) (Link, error) {
	if _, err := e.get(ctx, org, id); err != nil {
		return Link{}, err
	}
	if err := e.relay.CheckURL(ctx, org, id, relayURL); err != nil {
		return Link{}, err
	}
	var made Link
	work := account.NewID(ctx)
	err := e.change(ctx, org, func(ctx context.Context) error {
		row, err := e.get(ctx, org, id)
		if err != nil {
			return err
		}
		linked := row.Value
		switch {
		case linked.Link == work:
			made.Withheld = linked.Secret != nil
			made.Application, err = e.shown(ctx, org, linked)
			return err
		case linked.State == Federated:
			return transition(linked.State, "link")
		case linked.State == Registered:
			if err := e.meters.Check(ctx, org, billing.LinkedApplications); err != nil {
				return err
			}
		}
		if err := e.moving(ctx, org, id); err != nil {
			return err
		}
		now, before := e.store.Now(ctx), linked.State
		linked.State, linked.RelayURL, linked.LinkedAt, linked.Link = Linked, &relayURL, &now, work
		if made.ProviderSecret, err = linked.mint(e.keys, org); err != nil {
			return err
		}
		linked.Etag = account.NextEtag(linked.Etag)
		tx := e.store.Begin(ctx)
		entries.Put(tx, org, id, linked, row.Version)
		if err := e.deleteHealth(ctx, tx, org, id); err != nil {
			return err
		}
		if err := e.settleOrg(ctx, tx, org, linked.Application, false); err != nil {
			return err
		}
		tx.Audit(org, actor, "application.link", id, map[string]any{"relayUrl": relayURL, "from": before, "secretHint": linked.SecretHint})
		if err := tx.Commit(); err != nil {
			return err
		}
		e.relay.Forget(org, id)
		made.Application, err = e.shown(ctx, org, linked)
		return err
	})
	if err != nil {
		return Link{}, err
	}
	return made, nil
}

// mint gives the entry a new secret, or none when it is local; the old one is
// forgotten either way.
func (a *entry) mint(keys *secret.Keys, org string) (*string, error) {
	a.Secret, a.SecretHint = nil, nil
	if relay.IsLocal(*a.RelayURL) {
		return nil, nil
	}
	_, text := secret.NewToken(secret.PrefixProvider)
	sealed, err := keys.Seal(secret.PurposeProviderSecret, []byte(text), secret.Additional(org, a.ID))
	if err != nil {
		return nil, fault.Internal(err)
	}
	hint := secret.Hint(text)
	a.Secret, a.SecretHint = &sealed, &hint
	return &text, nil
}

// Unlink forgets where an application is and its secret: application_not_found,
// invalid_transition unless it is linked.
func (e *Entries) Unlink(ctx context.Context, actor, org, id string) (a Application, err error) {
	work := account.NewID(ctx)
	err = e.change(ctx, org, func(ctx context.Context) error {
		row, err := e.get(ctx, org, id)
		if err != nil {
			return err
		}
		free := row.Value
		switch {
		case free.Link == work:
			a, err = e.shown(ctx, org, free)
			return err
		case free.State != Linked:
			return transition(free.State, "unlink")
		}
		if err := e.moving(ctx, org, id); err != nil {
			return err
		}
		free.State, free.RelayURL, free.LinkedAt, free.Link = Registered, nil, nil, work
		free.Secret, free.SecretHint = nil, nil
		free.Etag = account.NextEtag(free.Etag)
		tx := e.store.Begin(ctx)
		entries.Put(tx, org, id, free, row.Version)
		if err := e.deleteHealth(ctx, tx, org, id); err != nil {
			return err
		}
		if err := e.settleOrg(ctx, tx, org, free.Application, false); err != nil {
			return err
		}
		tx.Audit(org, actor, "application.unlink", id, nil)
		if err := tx.Commit(); err != nil {
			return err
		}
		e.relay.Forget(org, id)
		a, err = e.shown(ctx, org, free)
		return err
	})
	return a, err
}

// settleOrg lets the org follow its applications, one of which is about to be as
// given, or gone. The first one linked becomes primary. One that is unlinked stays
// primary while others are linked: another org root is the owner's to choose.
func (e *Entries) settleOrg(ctx context.Context, tx *account.Tx, org string, about Application, gone bool) error {
	row, err := e.org(ctx, org)
	if err != nil {
		return err
	}
	all, err := e.all(ctx, org)
	if err != nil {
		return err
	}
	settled, primary := row.Value, row.Value.PrimaryApplication
	switch linked, federated := count(all, about, gone); {
	case federated > 0: // its applications are members, and none is the root
		settled.Mode = account.ModeFederated
	case linked > 0:
		settled.Mode = account.ModeLinked
	default:
		settled.Mode, settled.PrimaryApplication = account.ModeUnlinked, nil
	}
	switch {
	case gone && primary != nil && *primary == about.ID:
		settled.PrimaryApplication = nil
	case about.State == Linked && !gone && primary == nil:
		settled.PrimaryApplication = &about.ID
	}
	if settled.Mode == row.Value.Mode && same(settled.PrimaryApplication, primary) {
		account.Orgs.Require(tx, org, account.OrgID, row.Version)
		return nil
	}
	settled.Etag = account.NextEtag(settled.Etag)
	account.Orgs.Put(tx, org, account.OrgID, settled, row.Version)
	return nil
}

// count counts the org's linked and federated applications, one of which is about to be
// as given, or gone.
func count(all []account.Row[entry], about Application, gone bool) (linked, federated int) {
	add := func(s State) {
		switch s {
		case Linked:
			linked++
		case Federated:
			federated++
		}
	}
	for _, other := range all {
		if other.ID != about.ID {
			add(other.Value.State)
		}
	}
	if !gone {
		add(about.State)
	}
	return linked, federated
}

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// SetAuditOptIn turns the retention of an application's audit log on or off:
// application_not_found.
func (e *Entries) SetAuditOptIn(ctx context.Context, actor, org, id string, optIn bool) (a Application, err error) {
	err = account.Retry(func() error {
		row, err := e.get(ctx, org, id)
		if err != nil {
			return err
		}
		changed := row.Value
		if changed.AuditOptIn != optIn {
			changed.AuditOptIn, changed.Etag = optIn, account.NextEtag(changed.Etag)
			tx := e.store.Begin(ctx)
			entries.Put(tx, org, id, changed, row.Version)
			tx.Audit(org, actor, "application.audit_optin", id, map[string]any{"optIn": optIn})
			if err := tx.Commit(); err != nil {
				return err
			}
		}
		a, err = e.shown(ctx, org, changed)
		return err
	})
	return a, err
}

// Rekey seals the org's provider secrets with the newest host key, and says how
// many were sealed with another.
func (e *Entries) Rekey(ctx context.Context, org string) (n int, err error) {
	all, err := e.all(ctx, org)
	if err != nil {
		return 0, err
	}
	for _, row := range all {
		if row.Value.Secret == nil || !e.keys.Stale(*row.Value.Secret) {
			continue
		}
		err := account.Retry(func() error {
			row, err := e.get(ctx, org, row.ID)
			if err != nil || row.Value.Secret == nil || !e.keys.Stale(*row.Value.Secret) {
				return err
			}
			plain, err := e.open(org, row.Value)
			if err != nil {
				return err
			}
			return e.reseal(ctx, org, row, plain)
		})
		if absent := new(fault.Error); errors.As(err, &absent) && absent.Code == "application_not_found" {
			continue
		} else if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (e *Entries) open(org string, a entry) (string, error) {
	if a.Secret == nil {
		return "", nil
	}
	plain, err := e.keys.Open(secret.PurposeProviderSecret, *a.Secret, secret.Additional(org, a.ID))
	if err != nil {
		return "", fault.Internal(err)
	}
	return string(plain), nil
}

// reseal leaves the etag: nothing that anybody sees changes.
func (e *Entries) reseal(ctx context.Context, org string, row account.Row[entry], plain string) error {
	sealed, err := e.keys.Seal(secret.PurposeProviderSecret, []byte(plain), secret.Additional(org, row.ID))
	if err != nil {
		return fault.Internal(err)
	}
	again := row.Value
	again.Secret = &sealed
	tx := e.store.Begin(ctx)
	entries.Put(tx, org, row.ID, again, row.Version)
	return tx.Commit()
}
