package service

import (
	"context"
	"crypto/subtle"
	"net/netip"
	"slices"
	"time"

	"github.com/authzhost/authz/host/internal/throttle"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
)

// Limits of failed bootstrap proofs (spec: hosted-api §1): of one address, and of
// all but direct loopback connections, so that a stranger cannot lock the
// break-glass door.
const (
	failuresPerAddress = 5
	failuresInAll      = 10
	addressWindow      = int64(15 * time.Minute / time.Millisecond)
	allWindow          = int64(time.Hour / time.Millisecond)

	// keptFailures bounds the record. Past failuresInAll only the addresses of this
	// machine add to it, and those are many.
	keptFailures = 1000
)

// proofFailure is kept for an hour, shared by all hosts.
type proofFailure struct {
	Address string `json:"address"`
	At      int64  `json:"at"`
}

var proofFailures = account.Collection[[]proofFailure]{Name: "proof_failures"}

const (
	failuresID       = "bootstrap"
	bootstrapSection = "bootstrap"
)

// BootstrapProof is a sign-in by the configured break-glass credential.
type BootstrapProof struct {
	Proved        // Method is ignored
	Secret string // as sent
	Direct bool   // a loopback connection without X-Forwarded-For
}

// SignInBootstrap proves the bootstrap credential in constant time and signs in. It
// is one at a time over all hosts, so that guesses cannot outrun their count.
func (s *Service) SignInBootstrap(ctx context.Context, p BootstrapProof) (SignedIn, error) {
	began := time.Now()
	p.Method = MethodBootstrap
	address := addressBucket(p.Address)
	reason := ""
	// What is over the limit waits for nobody.
	if err := s.heard(ctx, address, p.Direct); err != nil {
		return SignedIn{}, err
	}
	err := s.Accounts.Exclusive(ctx, bootstrapSection, func(ctx context.Context) error {
		if err := s.heard(ctx, address, p.Direct); err != nil {
			return err
		}
		if reason = s.refusal(p); reason == "" {
			return nil
		}
		return s.countFailure(ctx, address)
	})
	if err != nil {
		return SignedIn{}, err
	}
	if reason != "" {
		return SignedIn{}, s.RefuseSignIn(ctx, p.Proved, reason, began)
	}
	return s.SignIn(ctx, p.Proved)
}

// TakesBootstrap reports that the bootstrap credential may sign in.
func (s *Service) TakesBootstrap() bool {
	return s.Bootstrap.UserID != "" && *s.bootstrapSecret.Load() != "" && (!s.OIDC || s.Bootstrap.Keep)
}

// isBootstrap tells whether a user is the one whom service.bootstrap names.
func (s *Service) isBootstrap(userID string) bool {
	return s.Bootstrap.UserID != "" && userID == s.Bootstrap.UserID
}

// refusal judges everything, whatever fails first.
func (s *Service) refusal(p BootstrapProof) string {
	user := subtle.ConstantTimeCompare(secret.Hash(p.UserID), secret.Hash(s.Bootstrap.UserID)) == 1
	configured := *s.bootstrapSecret.Load()
	good := subtle.ConstantTimeCompare(secret.Hash(p.Secret), secret.Hash(configured)) == 1
	switch {
	case s.Bootstrap.UserID == "" || configured == "":
		return "no bootstrap credential is configured"
	case s.OIDC && !s.Bootstrap.Keep:
		return "the bootstrap credential is off, since OIDC is configured"
	case !user:
		return "another user than the bootstrap user"
	case !good:
		return "wrong secret"
	}
	return ""
}

// heard refuses an attempt that is over a limit.
func (s *Service) heard(ctx context.Context, address string, direct bool) error {
	row, _, err := proofFailures.Get(ctx, s.Accounts, "", failuresID)
	if err != nil {
		return err
	}
	now := s.Clock()
	var ofAddress, inAll []int64
	for _, f := range row.Value {
		if f.At > now-allWindow {
			inAll = append(inAll, f.At)
		}
		if f.Address == address && f.At > now-addressWindow {
			ofAddress = append(ofAddress, f.At)
		}
	}
	if len(ofAddress) >= failuresPerAddress {
		return fault.Limited("bootstrap_address", ofAddress[len(ofAddress)-failuresPerAddress]+addressWindow-now)
	}
	if len(inAll) >= failuresInAll && !direct {
		return fault.Limited("bootstrap_all", inAll[len(inAll)-failuresInAll]+allWindow-now)
	}
	return nil
}

func (s *Service) countFailure(ctx context.Context, address string) error {
	row, _, err := proofFailures.Get(ctx, s.Accounts, "", failuresID)
	if err != nil {
		return err
	}
	now := s.Clock()
	kept := slices.DeleteFunc(row.Value, func(f proofFailure) bool { return f.At <= now-allWindow })
	kept = kept[max(0, len(kept)-keptFailures+1):]
	tx := s.Accounts.Begin(ctx)
	proofFailures.Put(tx, "", failuresID, append(kept, proofFailure{address, now}), row.Version)
	return tx.Commit()
}

// addressBucket is what is counted as one client.
func addressBucket(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	return throttle.Counted(ip)
}
