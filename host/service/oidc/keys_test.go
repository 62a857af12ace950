package oidc

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
)

// The library gives an answer to whoever asks before it has put it away, and that is
// often where tokens come one after the other.
func TestATokenIsHeldToTheKeysOfAFetchThatIsDue(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	var published atomic.Pointer[ed25519.PublicKey]
	var fetched atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","kid":"k","x":%q}]}`, encode(*published.Load()))
	}))
	defer server.Close()
	var now atomic.Int64
	now.Store(refetchKeys.Milliseconds())
	none := make(ed25519.PublicKey, ed25519.PublicKeySize)
	published.Store(&none)
	pace := &paced{clock: now.Load}
	keys := keySet{oidc.NewRemoteKeySet(oidc.ClientContext(t.Context(), caller(pace)), server.URL), pace}

	const rotations, atOnce = 500, 3
	var refused atomic.Int64
	for range rotations {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		signed := encode([]byte(`{"alg":"EdDSA","kid":"k"}`)) + "." + encode([]byte(`{}`))
		token := signed + "." + encode(ed25519.Sign(private, []byte(signed)))
		if _, err := keys.VerifySignature(t.Context(), token); err == nil {
			t.Fatal("a key that is not published verifies")
		}
		published.Store(&public)
		now.Add(refetchKeys.Milliseconds())
		var all sync.WaitGroup
		for range atOnce { // the fetch that one began serves all
			all.Go(func() {
				if _, err := keys.VerifySignature(t.Context(), token); err != nil {
					refused.Add(1)
				}
			})
		}
		all.Wait()
	}
	if refused.Load() > 0 || fetched.Load() != rotations+1 {
		t.Errorf("%d of %d tokens were held to keys that were no longer published; %d fetches", refused.Load(), rotations*atOnce, fetched.Load())
	}
}
