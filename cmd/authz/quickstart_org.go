package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/authzhost/authz/examples/acme"
	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// The quickstart's org, and the files that its service needs, as configs.Quickstart
// names them.
const (
	sampleOrg   = "acme"
	ownHostKey  = "host.key"
	ownerSecret = "owner.secret"
)

// ensureServiceSecrets makes the host key and the owner's secret unless they are
// there.
func ensureServiceSecrets(dir string) error {
	for _, name := range []string{ownHostKey, ownerSecret} {
		random := make([]byte, 32)
		_, _ = rand.Read(random) // never fails: crypto/rand ends the program instead
		if err := ensureFile(filepath.Join(dir, name), []byte(base64.StdEncoding.EncodeToString(random)+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// founder speaks to the hosted API with a session, as a browser does.
type founder struct {
	base, origin, csrf string
	cookie             *http.Cookie
}

// refused is an error of the hosted API.
type refused struct {
	Status  int
	Name    string `json:"name"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *refused) Error() string { return fmt.Sprintf("the hosted API: %s", spell.Echo(e.Message)) }

func (a *founder) call(ctx context.Context, method, path string, body, result any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, a.base+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", a.origin)
	if a.cookie != nil {
		r.AddCookie(a.cookie)
		r.Header.Set("X-Authz-Csrf", a.csrf)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	told, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		var envelope struct {
			Error refused `json:"error"`
		}
		_ = json.Unmarshal(told, &envelope) // what is no envelope has no code
		envelope.Error.Status = answer.StatusCode
		return &envelope.Error
	}
	for _, c := range answer.Cookies() {
		if strings.HasSuffix(c.Name, "authz_session") {
			a.cookie = c
		}
	}
	if result == nil || len(told) == 0 {
		return nil
	}
	return json.Unmarshal(told, result)
}

func (a *founder) signIn(ctx context.Context, org string, b *config.Bootstrap) error {
	body := map[string]any{"userId": b.UserID, "proof": map[string]string{"kind": "bootstrap", "secret": b.Secret.Reveal()}}
	if org != "" {
		body["org"] = org
	}
	var in struct {
		CSRFToken string `json:"csrfToken"`
	}
	a.cookie = nil
	err := a.call(ctx, http.MethodPost, "/auth/sign-in", body, &in)
	a.csrf = in.CSRFToken
	return err
}

// foundOrg makes the sample's org, with its owner, and links the sample, unless they
// are there; made says that this run made the org. Without service and bootstrap in
// the configuration there is nothing to make it with.
func (q *quickstart) foundOrg(ctx context.Context, local *adminsocket.Client, base string, cfg *config.Config) (made bool, err error) {
	if cfg.Service == nil || cfg.Service.Bootstrap == nil {
		return false, nil
	}
	owner := cfg.Service.Bootstrap
	a := &founder{base: base, origin: base}
	if cfg.Service.PublicURL != "" {
		a.origin = cfg.Service.PublicURL
	}
	err = a.signIn(ctx, sampleOrg, owner)
	if told, ok := err.(*refused); ok && told.Code == "seat_required" {
		if err := a.signIn(ctx, "", owner); err != nil {
			return false, err
		}
		// The sample will be the org's root: its owner administers it. First, so that
		// there is no org whose owner may not.
		grant := map[string]any{"subject": authz.UserPrincipal(owner.UserID).Subject(), "pattern": "authz_internal.*", "provenance": authz.AdminProvenance("quickstart")}
		if err := local.Call(ctx, sampleApp, "createGrant", map[string]any{"input": grant}, nil); err != nil {
			return false, err
		}
		org := map[string]string{"id": sampleOrg, "name": "Acme", "ownerUserId": owner.UserID}
		if err := a.call(ctx, http.MethodPost, "/orgs", org, nil); err != nil {
			return false, err
		}
		made, err = true, nil
	}
	if err != nil {
		return made, err
	}
	if err := linkSample(ctx, a); err != nil {
		return made, err
	}
	return made, registerSample(ctx, a)
}

// refound makes the org in a host that is running and has lost its account data, and
// accepts them then.
func (q *quickstart) refound(ctx context.Context, running *adminsocket.Client) error {
	var there struct {
		Stores []api.StorageStatus `json:"stores"`
	}
	if err := running.Host(ctx, "storage.status", nil, &there); err != nil {
		return err
	}
	lost := func(s api.StorageStatus) bool { return s.Partition == account.Partition && s.Lost }
	if !slices.ContainsFunc(there.Stores, lost) {
		return nil
	}
	if q.path == "" {
		q.path = filepath.Join(q.dir, ownConfig)
	}
	cfg, err := q.configuration()
	if err != nil {
		return err
	}
	var at api.HostStatus
	if err := running.Host(ctx, "status", nil, &at); err != nil {
		return err
	}
	base := baseURL(at.Address, cfg)
	if _, err := q.foundOrg(ctx, running, base, cfg); err != nil {
		return fmt.Errorf("make the org %s: %w", sampleOrg, err)
	}
	if err := running.Host(ctx, "storage.accept", map[string]string{"app": account.Partition}, nil); err != nil {
		return err
	}
	return q.showOwner(base, false, cfg)
}

// registerSample publishes the sample's catalog in the org's registry unless something
// is there: without it every row of the sample names what is not published.
func registerSample(ctx context.Context, a *founder) error {
	built, err := sampleCatalog()
	if err != nil {
		return err
	}
	var there struct{ Versions []json.RawMessage }
	err = a.call(ctx, http.MethodGet, "/orgs/"+sampleOrg+"/registry/"+built.Namespace(), nil, &there)
	if told, ok := err.(*refused); ok && told.Code == "namespace_not_found" {
		return nil // the application was given other namespaces since
	}
	if err != nil || len(there.Versions) > 0 {
		return err
	}
	document, err := built.Document()
	if err != nil {
		return err
	}
	return a.call(ctx, http.MethodPost, "/orgs/"+sampleOrg+"/applications/"+sampleApp+"/publish", map[string]any{"document": json.RawMessage(document)}, nil)
}

func sampleCatalog() (*catalog.Catalog, error) {
	input, err := catalog.ParseYAML(acme.Catalog())
	if err != nil {
		return nil, err
	}
	return catalog.Build(input)
}

func linkSample(ctx context.Context, a *founder) error {
	input, err := catalog.ParseYAML(acme.Catalog())
	if err != nil {
		return err
	}
	path := "/orgs/" + sampleOrg + "/applications"
	entry := map[string]any{"id": sampleApp, "name": "Acme", "namespaces": input.Namespaces}
	var told *refused
	if err := a.call(ctx, http.MethodPost, path, entry, nil); err != nil {
		var ok bool
		if told, ok = err.(*refused); !ok || told.Code != "application_id_taken" {
			return err
		}
	}
	if told != nil {
		var there struct {
			Application struct{ State string } `json:"application"`
		}
		if err := a.call(ctx, http.MethodGet, path+"/"+sampleApp, nil, &there); err != nil || there.Application.State != "registered" {
			return err
		}
	}
	return a.call(ctx, http.MethodPost, path+"/"+sampleApp+"/link", map[string]string{"relayUrl": "local:" + sampleApp}, nil)
}

// showOwner prints how the owner signs in; the secret itself once, when the org was
// made.
func (q *quickstart) showOwner(base string, made bool, cfg *config.Config) error {
	if cfg.Service == nil || cfg.Service.Bootstrap == nil {
		return nil
	}
	file := filepath.Join(q.dir, ownerSecret)
	if cfg.Service.Dashboard {
		fmt.Fprintf(q.out, "\nThe dashboard: %s/dashboard/\nSign in there with the organization %s, the user id %s and the secret in %s.\n\n", base, sampleOrg, cfg.Service.Bootstrap.UserID, words.Shell(file))
	}
	if !made {
		fmt.Fprintf(q.out, "Its hosted API is at %s/api/v1, its org %s, the org's owner %s, whose secret is in %s\n", base, sampleOrg, cfg.Service.Bootstrap.UserID, words.Shell(file))
		return nil
	}
	secret, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(q.out, "Its hosted API is at %s/api/v1, its org %s, the org's owner %s, who signs in with this secret, shown once (it is kept in %s):\n%s\n",
		base, sampleOrg, cfg.Service.Bootstrap.UserID, words.Shell(file), strings.TrimSpace(string(secret)))
	return nil
}
