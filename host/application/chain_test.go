package application_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func TestSeveralHostsKeepOneAuditChain(t *testing.T) {
	ctx, store := context.Background(), openStore(t)
	seed(t, store)
	before := newApp(t, application.Options{Store: store})
	if _, err := before.CreateRole(ctx, provider.RoleInput{Name: "before the chain", Patterns: []string{"docs.files.read"}}, root); err != nil {
		t.Fatal(err)
	}
	var writers []func() error
	for host := range 3 {
		// Clocks that run behind one another must not put entries out of order.
		now := int64(5000 - 1000*host)
		app := newApp(t, application.Options{Store: store, HashChain: true, Clock: func() int64 { return now }})
		for n := range 5 {
			writers = append(writers, func() error {
				_, err := app.CreateRole(ctx, provider.RoleInput{Name: fmt.Sprint(host, n), Patterns: []string{"docs.files.read"}}, root)
				return err
			})
		}
	}
	for _, err := range race(writers...) {
		if err != nil {
			t.Error(err)
		}
	}
	app := newApp(t, application.Options{Store: store, HashChain: true})
	report, err := app.VerifyAuditChain(ctx, "")
	if err != nil || !report.OK || report.Hashed != len(writers) {
		t.Fatalf("%+v, %v; want %d chained entries", report, err, len(writers))
	}
	log := rows(t, store.ListAudit(ctx, storage.AuditFilter{}))
	for at, e := range log[1:] { // the first was written before the chain
		rest, err := app.VerifyAuditChain(ctx, e.Hash)
		if err != nil || !rest.OK || rest.Hashed != len(log)-2-at {
			t.Errorf("after entry %d: %+v, %v", at+1, rest, err)
		}
	}
	var refused *authz.WriteRejectedError
	if report, err := app.VerifyAuditChain(ctx, "00"); !errors.As(err, &refused) || refused.Code != authz.CodeNotFound {
		t.Errorf("a hash that no entry has: %+v, %v", report, err)
	}
}

func TestAChangedEntryIsFoundFromAnyEarlierHash(t *testing.T) {
	ctx, store := context.Background(), openStore(t)
	app := newApp(t, application.Options{Store: store, HashChain: true, IDs: ascending()})
	for n := range 4 {
		_, err := app.CreateRole(ctx, provider.RoleInput{Name: fmt.Sprint(n), Patterns: []string{"docs.files.read"}}, root)
		must(t, err)
	}
	log := rows(t, store.ListAudit(ctx, storage.AuditFilter{}))
	changed := &doctored{Store: store, at: log[2].ID}
	for priorHash, index := range map[string]int{"": 2, log[0].Hash: 1, log[1].Hash: 0} {
		report, err := newApp(t, application.Options{Store: changed}).VerifyAuditChain(ctx, priorHash)
		if want := (authz.HashChainReport{Index: index, Reason: authz.HashChainMismatch}); err != nil || report != want {
			t.Errorf("from %q: %+v, %v; want %+v", priorHash, report, err, want)
		}
	}
}

// doctored is a store one of whose audit entries was changed.
type doctored struct {
	storage.Store
	at string
}

func (s *doctored) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		for e, err := range s.Store.ListAudit(ctx, f) {
			if e.ID == s.at {
				e.Target = "another"
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
