package oidc_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/oidc"
	"github.com/authzhost/authz/host/service/oidc/idptest"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

const clientSecret = "a client secret of this test"

// idp is shared by the tests; they run one after another and set how it behaves.
var idp *idptest.Provider

func TestMain(m *testing.M) {
	var err error
	if idp, err = idptest.Start(oidc.CallbackPath, clientSecret); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := idp.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// world is two hosts over one database, and a clock.
type world struct {
	*testing.T
	ctx      context.Context
	ahead    atomic.Int64 // ms
	store    storage.Store
	accounts *account.Store
	keys     *secret.Keys
	a, b     *oidc.Provider
}

func newWorld(t *testing.T, change func(*oidc.Options)) *world {
	w := &world{T: t, ctx: t.Context()}
	store, err := memory.New(memory.Options{}).Open(w.ctx, account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w.store, w.accounts = store, account.New(store, w.clock)
	if w.keys, err = secret.NewKeys([][]byte{[]byte("0123456789abcdef0123456789abcdef")}); err != nil {
		t.Fatal(err)
	}
	o := oidc.Options{Issuer: idp.Issuer, ClientID: idptest.ClientID, ClientSecret: clientSecret, UserIDClaim: "sub",
		PublicURL: "http://127.0.0.1:4711", Accounts: w.accounts, Keys: w.keys, Clock: w.clock}
	if change != nil {
		change(&o)
	}
	if w.a, err = oidc.New(o); err != nil {
		t.Fatal(err)
	}
	if w.b, err = oidc.New(o); err != nil {
		t.Fatal(err)
	}
	w.behave(idptest.Behaviour{})
	return w
}

func (w *world) clock() int64 { return time.Now().UnixMilli() + w.ahead.Load() }

func (w *world) behave(b idptest.Behaviour) {
	w.Helper()
	if err := idp.Behave(b); err != nil {
		w.Fatal(err)
	}
}

// start begins a sign-in and consents to it; what comes back is ready for Finish.
func (w *world) start() oidc.Answer {
	w.Helper()
	s, err := w.a.Start(w.ctx, "acme", "/orgs/acme?tab=keys")
	if err != nil {
		w.Fatal(err)
	}
	back, err := idp.Consent(s.AuthorizationURL)
	if err != nil {
		w.Fatal(err)
	}
	return oidc.Answer{Code: back.Get("code"), State: back.Get("state"), Error: back.Get("error"), Cookie: s.Cookie}
}

func (w *world) refused(a oidc.Answer, want oidc.Reason) {
	w.Helper()
	id, err := w.b.Finish(w.ctx, a)
	var refused *oidc.Refused
	if !errors.As(err, &refused) || refused.Reason != want {
		w.Errorf("%+v, %v; want it refused as %s", id, err, want)
	}
}

func TestAnotherHostFinishesWhatOneBegan(t *testing.T) {
	w := newWorld(t, nil)
	got, err := w.b.Finish(w.ctx, w.start())
	if want := (oidc.Identity{UserID: "u_42", Org: "acme", ReturnTo: "/orgs/acme?tab=keys"}); err != nil || got != want {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
}

func TestAnotherClientSecretCountsFromTheNextExchange(t *testing.T) {
	w := newWorld(t, nil)
	begun := w.start()
	w.b.SetClientSecret("the secret that came next")
	w.refused(begun, oidc.CodeRefused)
	w.b.SetClientSecret(clientSecret)
	if _, err := w.b.Finish(w.ctx, w.start()); err != nil {
		t.Error(err)
	}
}

// RFC 9207: an answer that names an issuer is that issuer's, and a provider that
// says it names itself always does. The code goes nowhere then.
func TestAnAnswerIsOfTheProviderThatWasAsked(t *testing.T) {
	says := func(w *world, named any) {
		w.behave(idptest.Behaviour{Discovery: map[string]any{"authorization_response_iss_parameter_supported": named}})
	}
	for name, c := range map[string]struct {
		supported any
		issuer    *string
		failed    bool
		want      oidc.Reason
	}{
		"not sent":                           {nil, nil, false, ""},
		"not sent, by one that never does":   {false, nil, false, ""},
		"not sent, by one that always does":  {true, nil, false, oidc.IssuerMissing},
		"its own":                            {nil, &idp.Issuer, false, ""},
		"its own, as it always says":         {true, &idp.Issuer, false, ""},
		"another's":                          {nil, new("https://evil.example"), false, oidc.IssuerMismatch},
		"another's, by one that always does": {true, new("https://evil.example"), false, oidc.IssuerMismatch},
		"empty":                              {nil, new(""), false, oidc.IssuerMismatch},
		"nearly its own":                     {nil, new(idp.Issuer + "/"), false, oidc.IssuerMismatch},
		"another's refusal":                  {nil, new("https://evil.example"), true, oidc.IssuerMismatch},
		"its own refusal":                    {true, &idp.Issuer, true, oidc.ProviderError},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			says(w, c.supported)
			a := w.start()
			a.Issuer = c.issuer
			if c.failed {
				a.Code, a.Error = "", "access_denied"
			}
			before, err := idp.Counts()
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if _, err := w.b.Finish(w.ctx, a); err != nil {
					t.Error(err)
				}
				return
			}
			w.refused(a, c.want)
			after, err := idp.Counts()
			if err != nil {
				t.Fatal(err)
			}
			if before["/token"] != after["/token"] {
				t.Error("the code was sent to the token endpoint")
			}
			w.refused(a, oidc.StateUnknown) // and the sign-in is over
		})
	}
}

func TestTheRequestIsOfACodeWithPKCE(t *testing.T) {
	w := newWorld(t, nil)
	seen := map[string]bool{}
	for range 2 {
		s, err := w.a.Start(w.ctx, "", "")
		if err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse(s.AuthorizationURL)
		q := u.Query()
		for name, want := range map[string]string{"response_type": "code", "client_id": "authz", "scope": "openid", "code_challenge_method": "S256",
			"redirect_uri": "http://127.0.0.1:4711/api/v1/auth/oidc/callback"} {
			if q.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, q.Get(name), want)
			}
		}
		for _, value := range []string{q.Get("state"), q.Get("nonce"), q.Get("code_challenge"), s.Cookie} {
			if len(value) < 43 || seen[value] {
				t.Errorf("%q is short, or was seen before", value)
			}
			seen[value] = true
		}
		if strings.Contains(s.AuthorizationURL, s.Cookie) || strings.Contains(s.AuthorizationURL, clientSecret) {
			t.Error("the URL tells what only the browser or the host may know")
		}
	}
}

func TestEveryAlgorithmOfTheChapterIsTakenAndNoOther(t *testing.T) {
	w := newWorld(t, nil)
	for _, algorithm := range oidc.Algorithms {
		w.behave(idptest.Behaviour{Algorithm: algorithm})
		if _, err := w.b.Finish(w.ctx, w.start()); err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
	}
	for _, algorithm := range []string{"RS512", "HS256"} {
		w.behave(idptest.Behaviour{Algorithm: algorithm})
		w.refused(w.start(), oidc.TokenInvalid)
	}
}

func TestAWrongTokenIsRefused(t *testing.T) {
	now := time.Now().Unix()
	cases := []struct {
		name   string
		claims map[string]any
		want   oidc.Reason
	}{
		{"another nonce", map[string]any{"nonce": "another nonce of somebody else"}, oidc.NonceMismatch},
		{"no nonce", map[string]any{"nonce": nil}, oidc.NonceMismatch},
		{"another audience", map[string]any{"aud": []string{"somebody-else"}}, oidc.TokenInvalid},
		{"no audience", map[string]any{"aud": nil}, oidc.TokenInvalid},
		{"several audiences and no authorized party", map[string]any{"aud": []string{"authz", "other"}}, oidc.PartyMismatch},
		{"several audiences and another party", map[string]any{"aud": []string{"authz", "other"}, "azp": "other"}, oidc.PartyMismatch},
		{"several audiences and our party", map[string]any{"aud": []string{"authz", "other"}, "azp": "authz"}, ""},
		{"another party", map[string]any{"azp": "other"}, oidc.PartyMismatch},
		{"another issuer", map[string]any{"iss": "https://other.example"}, oidc.TokenInvalid},
		{"the issuer with a slash", map[string]any{"iss": idp.Issuer + "/"}, oidc.TokenInvalid},
		{"no issuer", map[string]any{"iss": nil}, oidc.TokenInvalid},
		{"expired within the leeway", map[string]any{"exp": now - 20}, ""},
		{"expired", map[string]any{"exp": now - 61}, oidc.TokenExpired},
		{"no expiry", map[string]any{"exp": nil}, oidc.TokenExpired},
		{"issued within the leeway", map[string]any{"iat": now + 30}, ""},
		{"issued in the future", map[string]any{"iat": now + 120}, oidc.TokenTime},
		{"issued at no time", map[string]any{"iat": nil}, oidc.TokenTime},
		{"not valid yet", map[string]any{"nbf": now + 120}, oidc.TokenTime},
		{"no subject", map[string]any{"sub": nil}, oidc.ClaimMissing},
		{"a subject that is no text", map[string]any{"sub": []int{42}}, oidc.TokenInvalid},
		{"a subject with a line break", map[string]any{"sub": "u_42\nu_1"}, oidc.ClaimMissing},
		{"a subject with space around it", map[string]any{"sub": " u_42"}, oidc.ClaimMissing},
		{"a subject that no seat can name", map[string]any{"sub": strings.Repeat("u", 257)}, oidc.ClaimMissing},
	}
	w := newWorld(t, nil)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.T = t
			w.behave(idptest.Behaviour{Claims: c.claims})
			if c.want != "" {
				w.refused(w.start(), c.want)
			} else if id, err := w.b.Finish(w.ctx, w.start()); err != nil || id.UserID != "u_42" {
				t.Errorf("%+v, %v", id, err)
			}
		})
	}
}

func TestAnEmailCountsOnlyWhenItIsVerified(t *testing.T) {
	byEmail := newWorld(t, func(o *oidc.Options) { o.UserIDClaim, o.Scopes = "email", []string{"email"} })
	bySub := newWorld(t, nil)
	for _, c := range []struct {
		claims map[string]any
		good   bool
	}{
		{map[string]any{"email": "ann@acme.example", "email_verified": true}, true},
		{map[string]any{"email": "ann@acme.example", "email_verified": false}, false},
		{map[string]any{"email": "ann@acme.example", "email_verified": "true"}, false},
		{map[string]any{"email": "ann@acme.example"}, false},
		{map[string]any{"email_verified": true}, false},
	} {
		bySub.behave(idptest.Behaviour{Claims: c.claims})
		want := ""
		if c.good {
			want = "ann@acme.example"
		}
		if id, err := bySub.b.Finish(bySub.ctx, bySub.start()); err != nil || id.Email != want || id.UserID != "u_42" {
			t.Errorf("%v: %+v, %v", c.claims, id, err)
		}
		if !c.good {
			byEmail.refused(byEmail.start(), oidc.EmailUnproved)
		} else if id, err := byEmail.b.Finish(byEmail.ctx, byEmail.start()); err != nil || id.UserID != want {
			t.Errorf("%v: %+v, %v", c.claims, id, err)
		}
	}
}

func TestAStateWorksOnce(t *testing.T) {
	w := newWorld(t, nil)
	good := w.start()
	if _, err := w.b.Finish(w.ctx, good); err != nil {
		t.Fatal(err)
	}
	w.refused(good, oidc.StateUnknown)

	t.Run("also when the first attempt was a bad one", func(t *testing.T) {
		for name, spoil := range map[string]func(*oidc.Answer){
			"no cookie":       func(a *oidc.Answer) { a.Cookie = "" },
			"another browser": func(a *oidc.Answer) { a.Cookie = w.start().Cookie },
		} {
			a := w.start()
			bad := a
			spoil(&bad)
			w.refused(bad, oidc.CookieMismatch)
			w.refused(a, oidc.StateUnknown)
			_ = name
		}
		a := w.start()
		bad := a
		bad.Code += "x"
		w.refused(bad, oidc.CodeRefused)
		w.refused(a, oidc.StateUnknown)
		bad = w.start()
		bad.Code, bad.Error = "", "access_denied"
		w.refused(bad, oidc.ProviderError)
	})
	t.Run("to one of many at once", func(t *testing.T) {
		a := w.start()
		var won atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := w.b.Finish(w.ctx, a); err == nil {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d attempts won", won.Load())
		}
	})
	t.Run("and to nobody who only guesses", func(t *testing.T) {
		a := w.start()
		slot, _, _ := strings.Cut(a.State, ".")
		for _, guess := range []string{"", slot, slot + ".", slot + ".x", "9999.x", "10000.x", "-1.x", "+001.x", "000x.x", strings.Repeat("0", 300) + ".x"} {
			w.refused(oidc.Answer{Code: a.Code, State: guess, Cookie: a.Cookie}, oidc.StateUnknown)
		}
		if _, err := w.b.Finish(w.ctx, a); err != nil {
			t.Errorf("a guess took it away: %v", err)
		}
	})
}

func TestACodeOfAnotherSignInIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	mine, theirs := w.start(), w.start()
	mine.Code = theirs.Code
	w.refused(mine, oidc.CodeRefused)
}

func TestAnExpiredCodeIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	w.behave(idptest.Behaviour{CodeExpired: true})
	w.refused(w.start(), oidc.CodeRefused)
}

func TestASignInLastsTenMinutes(t *testing.T) {
	w := newWorld(t, nil)
	a := w.start()
	w.ahead.Add(oidc.Lifetime.Milliseconds())
	w.refused(a, oidc.StateExpired)
}

func TestRotatedKeysAreFetchedOnceAMinuteAtMost(t *testing.T) {
	w := newWorld(t, nil)
	if _, err := w.b.Finish(w.ctx, w.start()); err != nil {
		t.Fatal(err)
	}
	fetched := func() int {
		counts, err := idp.Counts()
		if err != nil {
			t.Fatal(err)
		}
		return counts["/keys"]
	}
	before := fetched()
	w.behave(idptest.Behaviour{Rotate: true})
	for range 3 {
		w.refused(w.start(), oidc.TokenInvalid)
	}
	if n := fetched() - before; n != 0 {
		t.Errorf("fetched %d times within the minute", n)
	}
	w.ahead.Add(61_000)
	w.behave(idptest.Behaviour{Claims: map[string]any{"exp": time.Now().Add(time.Hour).Unix()}})
	for range 3 {
		if id, err := w.b.Finish(w.ctx, w.start()); err != nil || id.UserID != "u_42" {
			t.Errorf("%+v, %v", id, err)
		}
	}
	if n := fetched() - before; n != 1 {
		t.Errorf("fetched %d times after it", n)
	}
	w.behave(idptest.Behaviour{Impostor: true})
	w.ahead.Add(61_000)
	w.refused(w.start(), oidc.TokenInvalid)
}

func TestTheProviderIsNotFollowedAndNotReadWithoutEnd(t *testing.T) {
	w := newWorld(t, nil)
	for _, token := range []string{"redirect", "huge", "html"} {
		w.behave(idptest.Behaviour{Token: token})
		w.refused(w.start(), oidc.Unreachable)
	}
}

func TestADiscoveryDocumentThatLeadsAwayIsRefused(t *testing.T) {
	for name, document := range map[string]map[string]any{
		"another issuer":                 {"issuer": "https://other.example"},
		"a token endpoint in the open":   {"token_endpoint": "http://other.example/token"},
		"keys in the open":               {"jwks_uri": "http://192.0.2.1/keys"},
		"no keys":                        {"jwks_uri": nil},
		"an authorization URL of a file": {"authorization_endpoint": "file:///etc/passwd"},
	} {
		w := newWorld(t, nil)
		w.behave(idptest.Behaviour{Discovery: document})
		_, err := w.a.Start(w.ctx, "acme", "/")
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != fault.CodeProviderDown || e.Name != "InternalError" || strings.Contains(e.Message, "example") {
			t.Errorf("%s: %v", name, err)
		}
		w.behave(idptest.Behaviour{})
		w.ahead.Add(5_000) // and it is asked again
		if _, err := w.a.Start(w.ctx, "acme", "/"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhereABrowserIsSentBackToIsAPathOfThisHost(t *testing.T) {
	w := newWorld(t, nil)
	for _, bad := range []string{"//evil.example", "https://evil.example", "evil", "/\\evil.example", "/a\nb", "/\tb", "\\/evil", "/%zz", "/" + strings.Repeat("x", 2048)} {
		_, err := w.a.Start(w.ctx, "acme", bad)
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != "invalid_parameter" || e.Fields["parameter"] != "returnTo" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"/", "/orgs/acme", "/a?next=https://x.example#y", "/a//b"} {
		if !oidc.SafeReturn(good) {
			t.Errorf("%q", good)
		}
	}
}
