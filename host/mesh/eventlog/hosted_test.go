package eventlog_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// Over HTTP a composite log is a log like any other, also one of as many logs as a mesh
// has at most.
func TestRemoteClientsShareByACompositeLog(t *testing.T) {
	m := newMesh(t.Fatal, t.Cleanup)
	n, jane := m.nodes[0], authz.UserPrincipal("jane")
	parts := []eventlog.Part{{Kind: eventlog.Own, Partition: "docs", Log: n.Application.EventLog()},
		{Kind: eventlog.Owner, Partition: "billing", Log: n.peer.EventLog()}}
	for i := range 197 {
		parts = append(parts, eventlog.Part{Kind: eventlog.Peer, Partition: fmt.Sprint("p", i), Log: newMemLog("x", user("a"))})
	}
	n.log = eventlog.Compose(eventlog.Fixed(parts...))
	const secret = "a-secret-of-the-test"
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: n, ApplicationID: "docs",
		Secrets: func() []string { return []string{secret} }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	var clients [2]*client.Client
	for i := range clients {
		h, err := provider.NewHosted(provider.HostedOptions{URL: server.URL, Secret: secret, Transport: server.Client().Transport})
		if err != nil {
			t.Fatal(err)
		}
		clients[i], err = client.New(client.Options{Provider: h, Catalog: n.Catalog(), Clock: m.now.Load, CacheStore: m.tier})
		if err != nil {
			t.Fatal(err)
		}
		defer clients[i].Close()
	}
	ask := func(i int, want bool, fetches int64) {
		t.Helper()
		n.fetches.Store(0)
		if got, err := clients[i].Can(t.Context(), jane, key, ""); err != nil || got != want || n.fetches.Load() != fetches {
			t.Errorf("client %d: %v, %v after %d fetches, want %v after %d", i, got, err, n.fetches.Load(), want, fetches)
		}
	}
	ask(0, false, 1)
	m.tier.await(t, 1)
	ask(1, false, 0)
	grant(t, m.nodes[1].peer, "user:jane")
	at := head(t, n.log)
	if err := clients[1].AwaitPosition(t.Context(), at.Position); err != nil {
		t.Error(err)
	}
	ask(1, true, 1)
	m.tier.await(t, 2)
	m.now.Add(window + 1)
	ask(0, true, 0)
	t.Logf("an identity of %d bytes", len(at.Identity))
}
