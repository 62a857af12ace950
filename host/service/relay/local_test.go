package relay_test

import (
	"context"
	"errors"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// here is an application of this host; err, when set, is what a count fails with.
type here struct {
	*application.Application
	err error
}

func (h here) Ping(context.Context) (provider.Ping, error) {
	return provider.Ping{API: 1, Application: "docs", OrgRoot: true, HasEventLog: true}, nil
}

func (h here) CountGrants(ctx context.Context, q provider.GrantQuery) (int64, error) {
	if h.err != nil {
		return 0, h.err
	}
	return h.Application.CountGrants(ctx, q)
}

func TestALocalApplicationIsAskedWithTheSameMeaning(t *testing.T) {
	app := here{Application: newApplication(t)}
	r := newRelay(t, relay.Options{Local: func(org, name string) (relay.Backend, bool) { return app, org == "acme" && name == "docs" }})
	must(t, r.CheckURL(context.Background(), "acme", "docs", "local:docs"))
	if err := r.CheckURL(context.Background(), "other", "docs", "local:docs"); !isRejected(err) {
		t.Error("another org may use it:", err)
	}
	a := r.For(relay.Target{Org: "acme", Application: "docs", URL: "local:docs"})
	must(t, write(a))
	must(t, listing(a))
	if got := said(t, a.DeleteGrant(context.Background(), "absent", root)); got != "ProviderWriteRejectedError not_found" {
		t.Error(got)
	}
	for want, err := range map[string]error{
		unavailable: &authz.UnavailableError{Message: "m"},
		broken:      errors.New("a bug with secrets in it"),
		timeout:     context.DeadlineExceeded,
	} {
		app.err = err
		if got := said(t, read(a)); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
	if got := said(t, write(r.For(relay.Target{Org: "other", Application: "docs", URL: "local:docs"}))); got != unreachable {
		t.Error(got)
	}
}

func TestWhatAPingSaysIsHeldAgainstTheEntry(t *testing.T) {
	for want, p := range map[string]provider.Ping{
		"ok": {API: 1, Application: "docs"}, "CloudError application_mismatch": {API: 1, Application: "other"},
		"CloudError provider_version_mismatch": {API: 2, Application: "docs"},
	} {
		if got := said(t, relay.CheckPing(p, "docs")); got != want {
			t.Errorf("%+v: %s", p, got)
		}
	}
}
