package secret

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestTokensHaveTheFormOfTheChapter(t *testing.T) {
	form := regexp.MustCompile(`^authz_(adm|prn|pub|ses|prv)_[a-z2-7]{16}_[0-9A-Za-z]{49}$`)
	for _, prefix := range []string{PrefixAdmin, PrefixPrincipal, PrefixPublisher, PrefixSession, PrefixProvider} {
		token, text := NewToken(prefix)
		if !form.MatchString(text) || !strings.HasPrefix(text, prefix) {
			t.Errorf("the token has another form than the chapter's: %d characters", len(text))
		}
		if p, id, ok := ParseToken(text); !ok || p != prefix || id != token.ID {
			t.Errorf("ParseToken of a fresh %s token: %q, %q, %v", prefix, p, id, ok)
		}
		hint := Hint(text)
		if strings.Contains(hint, token.Secret[:6]) || !strings.HasPrefix(hint, prefix+token.ID) || !strings.HasSuffix(hint, text[len(text)-4:]) {
			t.Errorf("the hint %q is not prefix, id and the last four characters", hint)
		}
		if !Matches(text, Hash(text)) || Matches(text+"x", Hash(text)) || Matches(text, nil) {
			t.Error("a token matches exactly its own hash")
		}
	}
}

func TestATypoIsRejectedWithoutALookup(t *testing.T) {
	_, text := NewToken(PrefixAdmin)
	for i := range text {
		typo := []byte(text)
		typo[i] = 'b'
		if string(typo) == text {
			typo[i] = 'c'
		}
		if _, _, ok := ParseToken(string(typo)); ok {
			t.Errorf("a token with another character at %d is well-formed", i)
		}
	}
	for _, bad := range []string{"", "authz_adm_", text[:len(text)-1], text + "a", " " + text, text + "\n"} {
		if _, _, ok := ParseToken(bad); ok || Hint(bad) != "" {
			t.Errorf("%d characters that are no token were taken for one", len(bad))
		}
	}
}

func TestARenewedTokenKeepsItsIDAndSharesNoSecret(t *testing.T) {
	old, first := NewToken(PrefixPublisher)
	renewed, second := RenewToken(PrefixPublisher, old.ID)
	if renewed.ID != old.ID || renewed.Secret == old.Secret || Matches(second, Hash(first)) {
		t.Error("rotation makes another secret under the same id")
	}
}

func TestSecretsUseEveryCharacter(t *testing.T) {
	seen := map[rune]int{}
	for range 2000 {
		for _, c := range randomSecret() {
			seen[c]++
		}
	}
	for _, c := range base62 { // 86000 draws: 1387 each on average, 37 the deviation
		if n := seen[c]; n < 1150 || n > 1650 {
			t.Errorf("%c was drawn %d times of 86000: not uniform", c, n)
		}
	}
}

func keys(t *testing.T, fill ...byte) *Keys {
	t.Helper()
	var raw [][]byte
	for _, b := range fill {
		raw = append(raw, bytes.Repeat([]byte{b}, KeyLength))
	}
	k, err := NewKeys(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestASealedSecretOpensOnlyWhereItWasSealed(t *testing.T) {
	k := keys(t, 1)
	here := Additional("acme", "docs")
	s, err := k.Seal(PurposeProviderSecret, []byte("plain"), here)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := k.Open(PurposeProviderSecret, s, here); err != nil || string(plain) != "plain" {
		t.Fatalf("Open: %q, %v", plain, err)
	}
	again, _ := k.Seal(PurposeProviderSecret, []byte("plain"), here)
	if bytes.Equal(again.Data, s.Data) || bytes.Contains(s.Data, []byte("plain")) {
		t.Error("each seal has a nonce of its own and hides its text")
	}

	changed := Sealed{s.KeyID, bytes.Clone(s.Data)}
	changed.Data[len(changed.Data)-1] ^= 1
	cases := map[string]func() ([]byte, error){
		"another record":              func() ([]byte, error) { return k.Open(PurposeProviderSecret, s, Additional("acme", "mail")) },
		"another border of the names": func() ([]byte, error) { return k.Open(PurposeProviderSecret, s, Additional("acmed", "ocs")) },
		"another purpose":             func() ([]byte, error) { return k.Open(PurposeOIDC, s, here) },
		"another host key":            func() ([]byte, error) { return keys(t, 2).Open(PurposeProviderSecret, s, here) },
		"another key under this one's id": func() ([]byte, error) {
			return keys(t, 2).Open(PurposeProviderSecret, Sealed{keys(t, 2).Current(), s.Data}, here)
		},
		"a changed ciphertext": func() ([]byte, error) { return k.Open(PurposeProviderSecret, changed, here) },
		"a cut ciphertext":     func() ([]byte, error) { return k.Open(PurposeProviderSecret, Sealed{s.KeyID, s.Data[:5]}, here) },
	}
	for name, open := range cases {
		if plain, err := open(); err == nil {
			t.Errorf("%s opened it: %q", name, plain)
		}
	}
}

func TestANewFirstKeySealsAndTheOldOneStillOpens(t *testing.T) {
	old, both := keys(t, 1), keys(t, 2, 1)
	s, _ := old.Seal(PurposeProviderSecret, []byte("plain"), nil)
	if plain, err := both.Open(PurposeProviderSecret, s, nil); err != nil || string(plain) != "plain" {
		t.Fatalf("Open with the old key second: %q, %v", plain, err)
	}
	if !both.Stale(s) || both.Current() == old.Current() || !both.Has(s.KeyID) || keys(t, 2).Has(s.KeyID) {
		t.Error("what an older key sealed is stale, and its key is known while listed")
	}
	if renewed, _ := both.Seal(PurposeProviderSecret, []byte("plain"), nil); both.Stale(renewed) {
		t.Error("the newest key seals")
	}
	mac := old.MAC(PurposeCSRF, []byte("s1"))
	if !both.Verify(PurposeCSRF, mac, []byte("s1")) || keys(t, 2).Verify(PurposeCSRF, mac, []byte("s1")) {
		t.Error("a MAC is good under each key of the list and no other")
	}
	if old.Verify(PurposeCursor, mac, []byte("s1")) || old.Verify(PurposeCSRF, mac, []byte("s"), []byte("1")) || old.Verify(PurposeCSRF, nil, []byte("s1")) {
		t.Error("a MAC is bound to its purpose and the borders of its parts")
	}
}

func TestBadHostKeysAreRefused(t *testing.T) {
	good := bytes.Repeat([]byte{7}, KeyLength)
	for name, raw := range map[string][][]byte{
		"none": nil, "short": {good[:31]}, "long": {append(bytes.Clone(good), 1)}, "twice": {good, bytes.Clone(good)},
	} {
		if _, err := NewKeys(raw); err == nil || strings.Contains(err.Error(), "\x07") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
