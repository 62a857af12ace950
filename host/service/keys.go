package service

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/sdk/authz"
)

// Limits of API keys (spec: hosted-api §2, §7), in milliseconds.
const (
	MaxKeys = 500 // live ones of an org

	adminKeyLife    = int64(90 * 24 * time.Hour / time.Millisecond)
	maxAdminKeyLife = int64(366 * 24 * time.Hour / time.Millisecond)
	defaultOverlap  = int64(24 * time.Hour / time.Millisecond)
	maxOverlap      = int64(7 * 24 * time.Hour / time.Millisecond)
)

var serviceID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// KeyInput creates an API key.
type KeyInput struct {
	Kind      string  `json:"kind"`
	Name      string  `json:"name"`
	ServiceID *string `json:"serviceId,omitempty"`
	Namespace *string `json:"namespace,omitempty"`
	ExpiresAt *int64  `json:"expiresAt,omitempty"`
}

// Check is invalid_request, or nil.
func (in KeyInput) Check() error {
	var s shape
	s.text("name", in.Name, maxName)
	if !oneOf(in.Kind, account.KeyAdmin, account.KeyPrincipal, account.KeyPublisher) {
		s.add("kind", "must be admin, principal or publisher")
	}
	switch {
	case (in.ServiceID != nil) != (in.Kind == account.KeyPrincipal):
		s.add("serviceId", "belongs to a principal key, and only to it")
	case in.ServiceID != nil && !serviceID.MatchString(*in.ServiceID):
		s.add("serviceId", "must match [A-Za-z0-9_.-]{1,128}")
	}
	switch {
	case (in.Namespace != nil) != (in.Kind == account.KeyPublisher):
		s.add("namespace", "belongs to a publisher key, and only to it")
	case in.Namespace != nil && !authz.IsSegment(*in.Namespace):
		s.add("namespace", "must be a namespace")
	}
	if in.ExpiresAt != nil && !authz.ValidInstant(*in.ExpiresAt) {
		s.add("expiresAt", "must be an instant in epoch milliseconds")
	}
	return s.err()
}

// RotateInput rotates an API key.
type RotateInput struct {
	OverlapMs *int64 `json:"overlapMs,omitempty"`
}

// Check is invalid_request, or nil.
func (in RotateInput) Check() error {
	var s shape
	if in.OverlapMs != nil && (*in.OverlapMs < 0 || *in.OverlapMs > maxOverlap) {
		s.add("overlapMs", "must be 0 to 604800000")
	}
	return s.err()
}

// IssuedKey is a key with its secret, told this once. Secret is "" when the work
// was done by an earlier run, whose answer was lost: it is kept nowhere.
type IssuedKey struct {
	APIKey account.APIKey
	Secret string
}

// KeyQuery filters keys; nil and "" are any.
type KeyQuery struct {
	Kind    string
	Revoked *bool
}

type keyDetail struct {
	Kind      string `json:"kind"`
	Name      string `json:"name,omitempty"`
	UserID    string `json:"userId,omitempty"`
	ServiceID string `json:"serviceId,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

func detailOf(k account.APIKey) keyDetail {
	return keyDetail{k.Kind, k.Name, k.UserID, k.ServiceID, k.Namespace}
}

// APIKeys lists API keys in the order (createdAt, id).
func (s *Service) APIKeys(ctx context.Context, a *Access, q KeyQuery, p Page) (List[account.APIKey], error) {
	if err := a.Require(ctx, cloud.ManageCredentials, authz.Global); err != nil {
		return List[account.APIKey]{}, err
	}
	rows, err := s.keysOf(ctx, a.Org.ID, func(k account.StoredKey) bool {
		return (q.Kind == "" || q.Kind == k.Kind) && (q.Revoked == nil || *q.Revoked == (k.RevokedAt != nil))
	})
	if err != nil {
		return List[account.APIKey]{}, err
	}
	keys := make([]account.APIKey, 0, len(rows))
	for _, row := range rows {
		keys = append(keys, row.Value.APIKey)
	}
	return listed(keys, func(k account.APIKey) string { return oldestFirst(k.CreatedAt, k.ID) }, p), nil
}

// OneKey is an API key of an org, to whoever may list them.
func (s *Service) OneKey(ctx context.Context, a *Access, id string) (account.APIKey, error) {
	if err := a.Require(ctx, cloud.ManageCredentials, authz.Global); err != nil {
		return account.APIKey{}, err
	}
	row, found, err := account.Keys.Get(ctx, s.Accounts, a.Org.ID, id)
	if err == nil && !found {
		err = errNoKey()
	}
	return row.Value.APIKey, err
}

func errNoKey() error { return fault.Cloud("api_key_not_found", "API key not found") }

func (s *Service) keysOf(ctx context.Context, org string, wanted func(account.StoredKey) bool) ([]account.Row[account.StoredKey], error) {
	var rows []account.Row[account.StoredKey]
	for row, err := range account.Keys.All(ctx, s.Accounts, org) {
		if err != nil {
			return nil, err
		}
		if wanted(row.Value) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// mayManageKey is cloud.applications.manage_credentials at *, or of a publisher key
// at the application that the namespace belongs to, with a recent proof. A denial
// names * in either case.
func (s *Service) mayManageKey(ctx context.Context, a *Access, namespace string) error {
	if namespace != "" {
		app, found, err := s.Applications.OwnerID(ctx, a.Org.ID, namespace)
		if err != nil {
			return err
		}
		if found {
			if allowed, err := a.Can(ctx, cloud.ManageCredentials, cloud.App(app)); err != nil {
				return err
			} else if allowed {
				return a.RequireProof()
			}
		}
	}
	if err := a.Require(ctx, cloud.ManageCredentials, authz.Global); err != nil {
		return err
	}
	return a.RequireProof()
}

// MayCreateKey is the gate of CreateKey.
func (s *Service) MayCreateKey(ctx context.Context, a *Access, in KeyInput) error {
	namespace := ""
	if in.Namespace != nil {
		namespace = *in.Namespace
	}
	return s.mayManageKey(ctx, a, namespace)
}

// CreateKey makes a key. An admin key is the caller's own; no key outlives the
// admin key that created it.
func (s *Service) CreateKey(ctx context.Context, a *Access, in KeyInput) (IssuedKey, error) {
	if err := in.Check(); err != nil {
		return IssuedKey{}, err
	}
	key := account.StoredKey{APIKey: account.APIKey{Kind: in.Kind, Name: in.Name, CreatedBy: a.Caller.Actor(), ExpiresAt: in.ExpiresAt,
		ID: keyID(account.NewID(ctx)), CreatedAt: s.Accounts.Now(ctx), Etag: account.FirstEtag}}
	if in.Namespace != nil {
		key.Namespace = *in.Namespace
	}
	if err := s.MayCreateKey(ctx, a, in); err != nil {
		return IssuedKey{}, err
	}
	if err := s.complete(ctx, a, &key, in); err != nil {
		return IssuedKey{}, err
	}
	_, text := secret.RenewToken(prefixes[key.Kind], key.ID)
	key.Hint, key.Hash = secret.Hint(text), secret.Hash(text)
	issued := IssuedKey{key.APIKey, text}
	put := func(ctx context.Context) error {
		applied, err := s.Accounts.Applied(ctx)
		if err != nil {
			return err
		}
		if applied {
			row, _, err := account.Keys.Get(ctx, s.Accounts, a.Org.ID, key.ID)
			issued = IssuedKey{APIKey: row.Value.APIKey}
			return err
		}
		live, err := s.keysOf(ctx, a.Org.ID, func(k account.StoredKey) bool { return k.Live(s.Clock()) })
		if err != nil {
			return err
		}
		if len(live) >= MaxKeys {
			return fault.Cloud("limit_reached", "an org has at most %d live keys", MaxKeys).With("limit", MaxKeys)
		}
		tx := s.Accounts.Begin(ctx)
		account.Keys.Put(tx, a.Org.ID, key.ID, key, 0)
		account.KeyOrgs.Put(tx, "", key.ID, a.Org.ID, 0)
		if err := s.holdCreator(ctx, tx, a, key); err != nil {
			return err
		}
		tx.Audit(a.Org.ID, a.Caller.Actor(), "api_key.create", key.ID, detailOf(key.APIKey))
		return tx.Commit()
	}
	inKeys := func(ctx context.Context) error {
		return s.Accounts.Exclusive(ctx, "keys:"+a.Org.ID, func(ctx context.Context) error {
			return account.Retry(func() error { return put(ctx) })
		})
	}
	if key.Namespace == "" {
		err := inKeys(ctx)
		return issued, err
	}
	// Not beside the deletion of the application that the key is to publish for: it
	// would speak for whoever has the namespace next.
	err := s.Applications.Steady(ctx, a.Org.ID, func(ctx context.Context) error {
		if err := s.mayManageKey(ctx, a, key.Namespace); err != nil { // of the application that has it now
			return err
		}
		if err := s.mayPublish(ctx, a, key.Namespace); err != nil {
			return err
		}
		return inKeys(ctx)
	})
	return issued, err
}

// mayPublish is namespace_not_found unless an application has the namespace, and
// escalation_refused unless the caller may publish for it: who knows a publisher key
// may.
func (s *Service) mayPublish(ctx context.Context, a *Access, namespace string) error {
	app, found, err := s.Applications.OwnerID(ctx, a.Org.ID, namespace)
	if err != nil {
		return err
	}
	if !found {
		return fault.Cloud("namespace_not_found", "namespace not found")
	}
	return a.holdsAll(ctx, []conferred{{[]string{cloud.PublishCatalog}, cloud.App(app)}})
}

// complete judges what the kind of key asks for.
func (s *Service) complete(ctx context.Context, a *Access, key *account.StoredKey, in KeyInput) error {
	now := s.Accounts.Now(ctx)
	switch in.Kind {
	case account.KeyAdmin:
		if a.Seat == nil {
			return ErrNotAllowed() // a service has no seat to make a key for
		}
		key.UserID = a.Caller.UserID
		if key.ExpiresAt == nil {
			key.ExpiresAt = new(now + adminKeyLife)
		}
		if *key.ExpiresAt > now+maxAdminKeyLife {
			return fault.Invalid(fault.Issue{Path: "expiresAt", Message: "an admin key lives at most 366 days"})
		}
	case account.KeyPrincipal:
		key.ServiceID = *in.ServiceID
		if err := s.holdsService(ctx, a, key.ServiceID); err != nil {
			return err
		}
	case account.KeyPublisher:
		if err := s.mayPublish(ctx, a, key.Namespace); err != nil {
			return err
		}
	}
	if in.ExpiresAt != nil && *in.ExpiresAt <= now {
		return fault.Invalid(fault.Issue{Path: "expiresAt", Message: "is already in the past"})
	}
	if a.Caller.Kind != CallerAdmin {
		return nil
	}
	creator, found, err := account.Keys.Get(ctx, s.Accounts, a.Org.ID, a.Caller.CredentialID)
	switch {
	case err != nil:
		return err
	case !found || !creator.Value.Live(now):
		return errCredential()
	case in.ExpiresAt == nil && (key.ExpiresAt == nil || *creator.Value.ExpiresAt < *key.ExpiresAt):
		key.ExpiresAt = creator.Value.ExpiresAt
	case *key.ExpiresAt > *creator.Value.ExpiresAt:
		return fault.Invalid(fault.Issue{Path: "expiresAt", Message: "a key does not outlive the admin key that creates it"})
	}
	key.CreatedByKey = creator.ID
	return nil
}

// holdCreator lets no key be made by a seat or key that is being taken away.
func (s *Service) holdCreator(ctx context.Context, tx *account.Tx, a *Access, key account.StoredKey) error {
	if key.UserID != "" {
		seat, found, err := account.Seats.Get(ctx, s.Accounts, a.Org.ID, key.UserID)
		if err != nil {
			return err
		}
		if !found || seat.Value.State != account.SeatActive {
			return errNoOrg()
		}
		account.Seats.Require(tx, a.Org.ID, key.UserID, seat.Version)
	}
	if key.CreatedByKey == "" {
		return nil
	}
	creator, found, err := account.Keys.Get(ctx, s.Accounts, a.Org.ID, key.CreatedByKey)
	if err != nil {
		return err
	}
	if !found || creator.Value.RevokedAt != nil {
		return errCredential()
	}
	account.Keys.Require(tx, a.Org.ID, key.CreatedByKey, creator.Version)
	return nil
}

// keyID is a token's id made of a row's, so that repeated work makes the same one.
func keyID(row string) string {
	sum := sha256.Sum256([]byte(row))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}
