package application_test

import (
	"context"
	"fmt"
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
	rest, err := authz.VerifyChain(func(yield func(authz.AuditEntry, error) bool) {
		for _, e := range log[5:] {
			if !yield(e, nil) {
				return
			}
		}
	}, log[4].Hash)
	if err != nil || !rest.OK {
		t.Errorf("an export that begins at the sixth entry: %+v, %v", rest, err)
	}
}
