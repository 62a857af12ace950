package oidc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
)

// slots is how many unfinished sign-ins are kept. They form a ring: a new one takes
// the place of the oldest.
const slots = 10_000

// pending is an unfinished sign-in as it is stored, in the area of no org.
type pending struct {
	State  []byte        `json:"state"` // its SHA-256
	At     int64         `json:"at"`
	Sealed secret.Sealed `json:"sealed"`
}

// kept is what pending seals.
type kept struct {
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Browser  []byte `json:"browser"` // SHA-256 of the cookie's value
	Org      string `json:"org,omitempty"`
	ReturnTo string `json:"returnTo,omitempty"`
}

type ring struct {
	Next int64 `json:"next"` // how many were begun; the slot of the next by its remainder
}

const ringID = "ring"

var (
	pendings = account.Collection[pending]{Name: "oidc"}
	rings    = account.Collection[ring]{Name: "oidc_ring"}
)

func random() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:]
}

func slotID(n int64) string { return fmt.Sprintf("%04d", n%slots) }

// bound ties a sealed sign-in to its record.
func bound(id string, state []byte) []byte {
	return secret.Additional("oidc", id, hex.EncodeToString(state))
}

// begin stores an unfinished sign-in and answers its state, which names the slot.
func (p *Provider) begin(ctx context.Context, k kept) (state string, err error) {
	p.starting.Lock()
	defer p.starting.Unlock()
	if err := p.sweep(ctx); err != nil {
		return "", err
	}
	plain, err := json.Marshal(k)
	if err != nil {
		return "", fault.Internal(err)
	}
	for wait := time.Millisecond; ; wait *= 2 { // other hosts move the ring too
		state, err = p.take(ctx, plain)
		if err != error(account.ErrMoved) {
			return state, err
		}
		if wait > time.Second {
			return "", fault.Storage(err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", fault.Storage(ctx.Err())
		}
	}
}

func (p *Provider) take(ctx context.Context, plain []byte) (string, error) {
	s := p.o.Accounts
	now, _, err := rings.Get(ctx, s, "", ringID)
	if err != nil {
		return "", err
	}
	id := slotID(now.Value.Next)
	old, _, err := pendings.Get(ctx, s, "", id)
	if err != nil {
		return "", err
	}
	state := id + "." + random()
	hash := digest(state)
	sealed, err := p.o.Keys.Seal(secret.PurposeOIDC, plain, bound(id, hash))
	if err != nil {
		return "", fault.Internal(err)
	}
	tx := s.Begin(ctx)
	rings.Put(tx, "", ringID, ring{Next: now.Value.Next + 1}, now.Version)
	pendings.Put(tx, "", id, pending{State: hash, At: p.o.Clock(), Sealed: sealed}, old.Version)
	return state, tx.Commit()
}

// claim takes the sign-in of a state away, whatever becomes of it: of two attempts
// one has it. Who knows only the slot takes nothing.
func (p *Provider) claim(ctx context.Context, state string) (kept, error) {
	var k kept
	id, _, ok := strings.Cut(state, ".")
	if n, err := strconv.ParseInt(id, 10, 64); !ok || err != nil || n < 0 || slotID(n) != id {
		return k, &Refused{Reason: StateUnknown}
	}
	row, found, err := pendings.Get(ctx, p.o.Accounts, "", id)
	if err != nil {
		return k, err
	}
	if !found || subtle.ConstantTimeCompare(row.Value.State, digest(state)) != 1 {
		return k, &Refused{Reason: StateUnknown}
	}
	tx := p.o.Accounts.Begin(ctx)
	pendings.Delete(tx, "", id, row.Version)
	if err := tx.Commit(); err == error(account.ErrMoved) {
		return k, &Refused{Reason: StateUnknown, Cause: err}
	} else if err != nil {
		return k, err
	}
	plain, err := p.o.Keys.Open(secret.PurposeOIDC, row.Value.Sealed, bound(id, row.Value.State))
	if err != nil {
		return k, fault.Internal(err)
	}
	if err := json.Unmarshal(plain, &k); err != nil {
		return k, fault.Internal(err)
	}
	if row.Value.expired(p.o.Clock()) {
		return k, &Refused{Reason: StateExpired, Org: k.Org}
	}
	return k, nil
}

func (v pending) expired(now int64) bool { return now >= v.At+Lifetime.Milliseconds() }

const (
	sweepEvery = time.Minute
	sweepBatch = 200
)

// sweep takes out what is over, once a minute while sign-ins begin.
func (p *Provider) sweep(ctx context.Context) error {
	now := p.o.Clock()
	if p.sweptAt != 0 && now-p.sweptAt < sweepEvery.Milliseconds() {
		return nil
	}
	tx, gathered := p.o.Accounts.Begin(ctx), 0
	for row, err := range pendings.All(ctx, p.o.Accounts, "") {
		if err != nil {
			return err
		}
		if row.Value.expired(now) && gathered < sweepBatch {
			pendings.Delete(tx, "", row.ID, row.Version)
			gathered++
		}
	}
	if gathered < sweepBatch {
		p.sweptAt = now
	}
	if err := tx.Commit(); err != nil && err != error(account.ErrMoved) {
		return err
	}
	return nil
}

// Rekey seals unfinished sign-ins again whose key is not the newest, and answers how
// many. What moves meanwhile needs it no more: it was finished, or begun under the
// newest key.
func Rekey(ctx context.Context, s *account.Store, keys *secret.Keys) (int, error) {
	n := 0
	for row, err := range pendings.All(ctx, s, "") {
		if err != nil {
			return n, err
		}
		if !keys.Stale(row.Value.Sealed) {
			continue
		}
		plain, err := keys.Open(secret.PurposeOIDC, row.Value.Sealed, bound(row.ID, row.Value.State))
		if err != nil {
			return n, err
		}
		next := row.Value
		if next.Sealed, err = keys.Seal(secret.PurposeOIDC, plain, bound(row.ID, next.State)); err != nil {
			return n, err
		}
		tx := s.Begin(ctx)
		pendings.Put(tx, "", row.ID, next, row.Version)
		switch err := tx.Commit(); {
		case err == nil:
			n++
		case err != error(account.ErrMoved):
			return n, err
		}
	}
	return n, nil
}

// Started is a sign-in that a browser can be sent off with.
type Started struct {
	AuthorizationURL string

	// Cookie binds the sign-in to the browser; Finish needs it back. It lives for
	// Lifetime.
	Cookie string
}

// Start begins a sign-in, for an org and a path to return to, either of which may
// be "". Errors are *fault.Error; a provider that does not answer is ProviderDown.
func (p *Provider) Start(ctx context.Context, org, returnTo string) (Started, error) {
	if returnTo != "" && !SafeReturn(returnTo) {
		return Started{}, fault.Parameter("returnTo", "must be a path of this host that begins with one /")
	}
	found, err := p.discover(ctx)
	if err != nil {
		return Started{}, fault.ProviderDown(err, retryDiscovery.Milliseconds())
	}
	cookie := random()
	k := kept{Nonce: random(), Verifier: oauth2.GenerateVerifier(), Browser: digest(cookie), Org: org, ReturnTo: returnTo}
	state, err := p.begin(ctx, k)
	if err != nil {
		return Started{}, err
	}
	u := p.client(found).AuthCodeURL(state, oauth2.SetAuthURLParam("nonce", k.Nonce), oauth2.S256ChallengeOption(k.Verifier))
	return Started{AuthorizationURL: u, Cookie: cookie}, nil
}
