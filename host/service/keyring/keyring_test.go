package keyring_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/keyring"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/plugins/memory/memory"
)

var old, next = []byte("0123456789abcdef0123456789abcdef"), []byte("fedcba9876543210fedcba9876543210")

func keysOf(t *testing.T, raw ...[]byte) *secret.Keys {
	t.Helper()
	k, err := secret.NewKeys(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAKeyMayGoOnceEverythingIsSealedWithAnother(t *testing.T) {
	store, err := memory.New(memory.Options{}).Open(t.Context(), account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	accounts := account.New(store, func() int64 { return 1 })
	before, both, after := keysOf(t, old), keysOf(t, next, old), keysOf(t, next)
	admit := func(k *secret.Keys, missing string) {
		t.Helper()
		err := keyring.Admit(t.Context(), accounts, k)
		var lost *keyring.MissingKeyError
		if missing == "" && err != nil || missing != "" && (!errors.As(err, &lost) || lost.KeyID != missing) {
			t.Fatalf("%v; want %q missing", err, missing)
		}
	}
	admit(before, "")
	admit(before, "")
	admit(after, before.Current())
	admit(both, "")
	admit(before, both.Current())
	admit(after, before.Current())

	broken := errors.New("storage is down")
	if _, err := keyring.Rekey(t.Context(), accounts, both, func(context.Context) (int, error) { return 1, broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	admit(after, before.Current()) // as long as it did not go through

	n := func(n int) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { return n, nil }
	}
	got, err := keyring.Rekey(t.Context(), accounts, both, n(2), n(3))
	want := keyring.Result{KeyID: both.Current(), Resealed: 5, Retired: []string{before.Current()}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Fatal(err, d)
	}
	admit(after, "")
	admit(before, after.Current())
}

// A host that runs looks again: what was restored names the keys of its time.
func TestARunningHostNotesItsKeyInAccountDataThatWereRestored(t *testing.T) {
	store, err := memory.New(memory.Options{}).Open(t.Context(), account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	accounts := account.New(store, func() int64 { return 1 })
	before, after := keysOf(t, old), keysOf(t, next)
	if err := keyring.Admit(t.Context(), accounts, before); err != nil { // as the backup has it
		t.Fatal(err)
	}
	for range 2 {
		var lost *keyring.MissingKeyError
		if err := keyring.Readmit(t.Context(), accounts, after); !errors.As(err, &lost) || lost.KeyID != before.Current() {
			t.Fatalf("the key that is missing: %v", err)
		}
	}
	var lost *keyring.MissingKeyError
	if err := keyring.Admit(t.Context(), accounts, before); !errors.As(err, &lost) || lost.KeyID != after.Current() {
		t.Errorf("a host without the key that the running one seals with: %v", err)
	}
	if err := keyring.Readmit(t.Context(), accounts, keysOf(t, next, old)); err != nil {
		t.Error(err)
	}
}
