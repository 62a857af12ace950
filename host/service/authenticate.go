package service

import (
	"context"
	"strings"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
)

// Presented is what a request carries to say who it is.
type Presented struct {
	Authorization []string // every Authorization header
	Cookie        string   // the session cookie's value
	Address       string   // the client's, trusted proxies resolved
	UserAgent     string

	// Quiet is no use of the credential: what is asked by itself keeps no session alive.
	Quiet bool
}

const bearer = "bearer "

// Malformed tells that what counts of it is no credential in form: nothing has to be
// looked up to refuse it.
func (p Presented) Malformed() bool {
	if len(p.Authorization) == 0 {
		prefix, _, ok := secret.ParseToken(p.Cookie)
		return p.Cookie != "" && (!ok || prefix != secret.PrefixSession)
	}
	text, ok := bearerToken(p.Authorization)
	return !ok || !isKey(text)
}

func isKey(text string) bool {
	prefix, _, ok := secret.ParseToken(text)
	return ok && prefix != secret.PrefixSession && prefix != secret.PrefixProvider
}

// Authenticate resolves a credential (spec: hosted-api §2): with an Authorization
// header the cookie is ignored altogether. Unknown, revoked, expired and
// rotated-out keys have one answer, sessions in such a state another.
func (s *Service) Authenticate(ctx context.Context, p Presented) (Caller, error) {
	switch {
	case len(p.Authorization) > 0:
		text, ok := bearerToken(p.Authorization)
		if !ok {
			return Caller{}, errCredential()
		}
		return s.keyCaller(ctx, text, p)
	case p.Cookie != "":
		caller, _, err := s.sessionCaller(ctx, p)
		return caller, err
	}
	return Caller{}, fault.Unauthenticated("credential_missing", "a session or an API key is required")
}

func errCredential() error {
	return fault.Unauthenticated("credential_invalid", "the credential is not valid")
}

func errSession() error {
	return fault.Unauthenticated("session_expired", "the session has ended; sign in again")
}

func bearerToken(headers []string) (string, bool) {
	if len(headers) != 1 || len(headers[0]) <= len(bearer) || !strings.EqualFold(headers[0][:len(bearer)], bearer) {
		return "", false
	}
	return headers[0][len(bearer):], true
}

func (s *Service) keyCaller(ctx context.Context, text string, p Presented) (Caller, error) {
	if !isKey(text) {
		return Caller{}, errCredential()
	}
	prefix, id, _ := secret.ParseToken(text)
	org, found, err := account.KeyOrgs.Get(ctx, s.Accounts, "", id)
	if err != nil {
		return Caller{}, err
	}
	if !found {
		return Caller{}, errCredential()
	}
	row, found, err := account.Keys.Get(ctx, s.Accounts, org.Value, id)
	if err != nil {
		return Caller{}, err
	}
	key, now := row.Value, s.Clock()
	if !found || prefixes[key.Kind] != prefix || !proves(key, text, now) {
		return Caller{}, errCredential()
	}
	caller := Caller{Org: org.Value, CredentialID: id, Address: p.Address, UserAgent: p.UserAgent, Quiet: p.Quiet}
	switch key.Kind {
	case account.KeyAdmin:
		caller.Kind, caller.UserID = CallerAdmin, key.UserID
		seat, found, err := account.Seats.Get(ctx, s.Accounts, org.Value, key.UserID)
		if err != nil {
			return Caller{}, err
		}
		if !found || seat.Value.State != account.SeatActive {
			return Caller{}, errCredential()
		}
	case account.KeyPrincipal:
		caller.Kind, caller.ServiceID = CallerPrincipal, key.ServiceID
	case account.KeyPublisher:
		caller.Kind, caller.Namespace = CallerPublisher, key.Namespace
	}
	if !p.Quiet {
		s.touches.key(org.Value, key.APIKey, now)
	}
	return caller, nil
}

// StillHolds judges a key again in the commit of what it does, which fails when the
// key is revoked beside it: a body takes its time to arrive.
func (s *Service) StillHolds(caller Caller) func(context.Context, *account.Tx) error {
	return func(ctx context.Context, tx *account.Tx) error {
		key, found, err := account.Keys.Get(ctx, s.Accounts, caller.Org, caller.CredentialID)
		if err != nil {
			return err
		}
		if !found || !key.Value.Live(s.Clock()) {
			return errCredential()
		}
		account.Keys.Require(tx, caller.Org, key.ID, key.Version)
		return nil
	}
}

var prefixes = map[string]string{
	account.KeyAdmin: secret.PrefixAdmin, account.KeyPrincipal: secret.PrefixPrincipal, account.KeyPublisher: secret.PrefixPublisher,
}

// proves compares both digests whatever the first says.
func proves(key account.StoredKey, text string, now int64) bool {
	current := secret.Matches(text, key.Hash)
	previous := secret.Matches(text, key.PreviousHash)
	overlaps := key.PreviousValidUntil != nil && now < *key.PreviousValidUntil
	return key.Live(now) && (current || previous && overlaps)
}

// sessionCaller reads the session of the cookie, and refreshes its idle life at
// most once a minute.
func (s *Service) sessionCaller(ctx context.Context, p Presented) (Caller, account.Row[account.StoredSession], error) {
	var none account.Row[account.StoredSession]
	prefix, id, ok := secret.ParseToken(p.Cookie)
	if !ok || prefix != secret.PrefixSession {
		return Caller{}, none, errCredential()
	}
	row, found, err := account.Sessions.Get(ctx, s.Accounts, "", id)
	if err != nil {
		return Caller{}, none, err
	}
	now := s.Clock()
	if !found || !secret.Matches(p.Cookie, row.Value.Hash) || !row.Value.Live(now) {
		return Caller{}, none, errSession()
	}
	if !p.Quiet && now-row.Value.LastSeenAt >= touchEvery {
		s.refresh(ctx, &row, now)
	}
	return Caller{Kind: CallerSession, Org: row.Value.Org, UserID: row.Value.UserID, CredentialID: id,
		Address: p.Address, UserAgent: p.UserAgent, Quiet: p.Quiet}, row, nil
}

// refresh lengthens the idle life. Where another request did so meanwhile, or
// storage refuses, the session lives by what is stored.
func (s *Service) refresh(ctx context.Context, row *account.Row[account.StoredSession], now int64) {
	next := row.Value
	next.LastSeenAt = now
	next.IdleExpiresAt = min(now+s.SessionIdle.Milliseconds(), next.ExpiresAt)
	tx := s.Accounts.Begin(ctx)
	account.Sessions.Put(tx, "", row.ID, next, row.Version)
	if err := tx.Commit(); err == nil {
		row.Value, row.Version = next, row.Version+1
	}
}
