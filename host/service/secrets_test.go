package service_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/sdk/storage"
)

func TestNoSecretIsStoredOrLogged(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	w.register("docs", "docs")
	in := w.boot("acme")
	_ = w.try("acme", bootUser, "a-guess-of-somebody", "192.0.2.9", false)
	secrets := []string{bootSecret, in.Token, in.CSRFToken, "a-guess-of-somebody"}
	for _, input := range []service.KeyInput{{Kind: account.KeyAdmin, Name: "k"}, {Kind: account.KeyPrincipal, Name: "k", ServiceID: new("ci")},
		{Kind: account.KeyPublisher, Name: "k", Namespace: new("docs")}} {
		key, _ := w.keyFor(owner, input)
		rotated, err := w.s.RotateKey(t.Context(), owner, key.APIKey.ID, service.RotateInput{})
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, key.Secret, rotated.Secret)
	}
	w.s.Close()

	var stored bytes.Buffer
	n := 0
	for _, collection := range []string{"orgs", "seats", "places", "api_keys", "key_orgs", "sessions", "log", "proof_failures", "applications"} {
		for record, err := range w.records.ListRecords(t.Context(), collection, storage.RecordFilter{}, storage.Page{}) {
			if err != nil {
				t.Fatal(err)
			}
			stored.WriteString(record.ID + strings.Join(record.Keys[:], " "))
			stored.Write(record.Data)
			n++
		}
	}
	if n < 20 || w.log.Len() == 0 {
		t.Fatalf("there is nothing to search: %d records, %d bytes of log", n, w.log.Len())
	}
	for i, text := range secrets {
		if bytes.Contains(stored.Bytes(), []byte(text)) {
			t.Errorf("secret %d is stored", i)
		}
		if strings.Contains(w.log.String(), text) {
			t.Errorf("secret %d is in the log", i)
		}
	}
}

func TestEveryFailedProofTakesTheSameTime(t *testing.T) {
	const least = 80 * time.Millisecond
	w := worldOf(t, service.Options{RefusalTime: least})
	for name, guess := range map[string]func() error{
		"wrong secret": func() error { return w.try("", bootUser, "wrong", "192.0.2.1", false) },
		"wrong user":   func() error { return w.try("", "nobody", bootSecret, "192.0.2.2", false) },
		"wrong org":    func() error { return w.try("none", "nobody", "wrong", "192.0.2.3", false) },
	} {
		began := time.Now()
		expect(t, name, guess(), failed)
		if took := time.Since(began); took < least {
			t.Errorf("%s was refused after %v", name, took)
		}
	}
}
