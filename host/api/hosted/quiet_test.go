package hosted

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
)

func TestWhatIsTheCallersAffairIsNoErrorInTheLog(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_7"}`).want(t, 201, "")
	bot := owner.key(`{"kind":"principal","name":"hr","serviceId":"hr"}`)
	owner.call("GET", "/orgs/acme/applications/docs/usage/permissions?since=0", "").want(t, 200, "")

	// The application's own metrics are off from here on.
	without, err := application.New(t.Context(), application.Options{Name: "docs", Catalog: w.app.Catalog(), Store: w.store("docs"), Clock: w.clock.Load})
	w.must(err)
	t.Cleanup(func() { _ = without.Close() })
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: without, ApplicationID: "docs", AuditOptIn: true, Secrets: func() []string { return []string{*w.farToken.Load()} }})
	w.must(err)
	w.far.Config.Handler = handler
	w.logs.Reset()
	owner.call("GET", "/orgs/acme/applications/docs/usage/permissions?since=0", "").want(t, 501, "unsupported")
	bot.call("POST", "/orgs/acme/evaluate", `{"key":["cloud.seats.raed"]}`).want(t, 500, "UnknownPermissionError")
	if strings.Contains(w.logs.String(), "[ERROR]") {
		t.Errorf("logged:\n%s", &w.logs)
	}

	// A failure of the far side is one.
	w.far.Close()
	owner.call("GET", "/orgs/acme/applications/docs/usage/permissions?since=0", "").want(t, 502, "application_unreachable")
	if !strings.Contains(w.logs.String(), "[ERROR]") {
		t.Errorf("logged only:\n%s", &w.logs)
	}
}
