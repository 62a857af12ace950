package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/config"
)

const withKey = small + "service: {host_keys: [env:HOST_KEY]}\n"

func TestServiceIsOffWithoutItsSection(t *testing.T) {
	for _, text := range []string{small, small + "service:\n"} {
		cfg := load(t, text)
		if cfg.Service != nil {
			t.Errorf("%q: %v", text, cfg.Service)
		}
		if _, printed := cfg.Redacted()["service"]; printed {
			t.Error("it is printed")
		}
	}
}

func TestServiceDefaultsAreThoseOfTheSpec(t *testing.T) {
	got := load(t, withKey, keys()...).Service
	got.HostKeys = nil
	want := &config.Service{
		Storage: config.ServiceStorage{Driver: "main"}, OrgCreation: "bootstrap", Dashboard: true, Local: map[string][]string{},
		Session: config.Session{Lifetime: 12 * time.Hour, Idle: time.Hour},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	oidc := load(t, strings.Replace(withKey, "KEY]}", "KEY], oidc: {issuer: 'http://127.0.0.1:5', client_id: c}}", 1), keys()...).Service.OIDC
	if d := cmp.Diff(&config.OIDC{Issuer: "http://127.0.0.1:5", ClientID: "c", Scopes: []string{"openid"}, UserIDClaim: "sub"}, oidc, cmp.AllowUnexported(config.Secret{})); d != "" {
		t.Error(d)
	}
}

func TestServiceTakesWhatItIsGiven(t *testing.T) {
	cfg := load(t, full, keys("OLD="+secret)...)
	if got := cfg.Service.PublicURL; got != "https://authz.example:8443" {
		t.Errorf("public URL %q", got)
	}
	decoded, err := cfg.Service.Keys()
	if err != nil || len(decoded) != 2 || string(decoded[0]) != "0123456789abcdef0123456789abcdef" {
		t.Errorf("%q, %v", decoded, err)
	}
	if d := cmp.Diff([]string{"10.0.0.0/8", "192.0.2.7/32", "::1/128"}, cfg.TrustedProxies); d != "" {
		t.Error(d)
	}
	if got := config.Networks(cfg.TrustedProxies); len(got) != 3 || got[0].Bits() != 8 {
		t.Error(got)
	}
	if d := cmp.Diff(map[string][]string{"acme-inc": {"acme"}}, cfg.Service.Local); d != "" {
		t.Error(d)
	}
	byEnv := load(t, withKey, keys("AUTHZ_TRUSTED_PROXIES=10.0.0.0/8, fd00::/8", "AUTHZ_SERVICE__OIDC__ISSUER=https://i.example", "AUTHZ_SERVICE__OIDC__CLIENT_ID=c",
		"AUTHZ_SERVICE__OIDC__SCOPES=openid,email", "AUTHZ_SERVICE__LOCAL__ACME=acme")...)
	if d := cmp.Diff([]string{"10.0.0.0/8", "fd00::/8"}, byEnv.TrustedProxies); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"openid", "email"}, byEnv.Service.OIDC.Scopes); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string][]string{"acme": {"acme"}}, byEnv.Service.Local); d != "" {
		t.Error(d)
	}
}

func TestEveryProblemOfTheServiceIsNamed(t *testing.T) {
	with := func(lines string) string { return small + "service:\n  host_keys: [env:HOST_KEY]\n" + lines }
	cases := []struct {
		name, file string
		env        []string
		want       []string
	}{
		{"no host key", small + "service: {}", nil, []string{"line 8: service.host_keys: is required"}},
		{"an empty list of host keys", small + "service: {host_keys: []}", nil, []string{"service.host_keys: must not be an empty list"}},
		{"a literal host key", small + "service: {host_keys: [" + hostKey + "]}", nil, []string{"service.host_keys[0]: must be a reference"}},
		{"a short host key", with(""), []string{"HOST_KEY=MDEyMzQ1Njc4OWFiY2RlZg=="}, []string{"service.host_keys[0]: must be 32 random bytes in base64"}},
		{"a host key that is no base64", with(""), []string{"HOST_KEY=" + hidden}, []string{"service.host_keys[0]: must be 32 random bytes in base64"}},
		{"a host key of zeros", with(""), []string{"HOST_KEY=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}, []string{"service.host_keys[0]: is not random"}},
		{"a host key twice", small + "service: {host_keys: [env:HOST_KEY, env:HOST_KEY]}", nil, []string{"service.host_keys[1]: is in the list already"}},
		{"no public URL for other machines", strings.Replace(with(""), "plugins:", "listen: 0.0.0.0:80\ntls: {terminated_upstream: true}\nplugins:", 1), nil,
			[]string{`service.public_url: is required: listen, "0.0.0.0:80", does not say where browsers reach the host`}},
		{"a public URL over plain HTTP", with("  public_url: http://authz.example"), nil, []string{"line 10: service.public_url: must begin with https://"}},
		{"a public URL that is relative", with("  public_url: authz.example"), nil, []string{"service.public_url: must be an absolute URL"}},
		{"a public URL with a path", with("  public_url: https://authz.example/x"), nil, []string{"service.public_url: must hold no path"}},
		{"a public URL with a user", with("  public_url: https://a@authz.example"), nil, []string{"service.public_url: must hold no user, query or fragment"}},
		{"a public URL with a query", with("  public_url: 'https://authz.example?'"), nil, []string{"service.public_url: must hold no user, query or fragment"}},
		{"a driver that is not there", with("  storage: {driver: mian}"), nil, []string{"line 10: service.storage.driver: no plugin instance is called \"mian\"; did you mean main?"}},
		{"which of two drivers", strings.Replace(with(""), "plugins:\n", "plugins:\n  other: {plugin: memory}\n", 1), nil, []string{"service.storage.driver: is required unless there is exactly one plugin instance"}},
		{"half a bootstrap", with("  bootstrap: {user_id: u}"), nil, []string{"service.bootstrap.secret: is required"}},
		{"a short bootstrap secret", with("  bootstrap: {user_id: u, secret: env:B}"), []string{"B=   " + bootstrap[:31] + "   "}, []string{"service.bootstrap.secret: the secret is shorter than 32 characters"}},
		{"a bootstrap secret of a template", with("  bootstrap: {user_id: u, secret: env:B}"), []string{"B=${BOOTSTRAP_SECRET_FROM_THE_VAULT}"}, []string{"service.bootstrap.secret: the secret holds an unresolved ${…}"}},
		{"words that are no secret", with("  bootstrap: {user_id: u, secret: env:B}\n  oidc: {issuer: 'https://i', client_id: c, client_secret: env:C}"), []string{"B=undefined", "C=null"},
			[]string{"service.bootstrap.secret: the secret is shorter than", "service.oidc.client_secret: the secret is shorter than"}},
		{"a literal bootstrap secret", with("  bootstrap: {user_id: u, secret: " + hidden + "}"), nil, []string{"service.bootstrap.secret: must be a reference"}},
		{"a claim that passes on", with("  oidc: {issuer: 'https://i', client_id: c, user_id_claim: preferred_username}"), nil,
			[]string{`service.oidc.user_id_claim: "preferred_username" does not identify a person for good`}},
		{"scopes without openid", with("  oidc: {issuer: 'https://i', client_id: c, scopes: [email]}"), nil, []string{"service.oidc.scopes: must hold openid"}},
		{"an issuer over plain HTTP", with("  oidc: {issuer: 'http://i.example', client_id: c}"), nil, []string{"service.oidc.issuer: must begin with https://"}},
		{"half an issuer", with("  oidc: {}"), nil, []string{"service.oidc.client_id: is required", "service.oidc.issuer: is required"}},
		{"sessions that live too long", with("  session: {lifetime: 24h1m, idle: 9h}"), nil,
			[]string{"service.session.idle: must be from 1m0s to 8h0m0s, not 9h0m0s", "service.session.lifetime: must be from 0s to 24h"}},
		{"sessions that do not live", with("  session: {lifetime: 0s}"), nil, []string{"service.session.lifetime: must be from 1m0s to 24h0m0s, not 0s"}},
		{"who may create orgs", with("  org_creation: everybody"), nil, []string{"service.org_creation: must be one of bootstrap, session"}},
		{"networks that are none", with("  relay: {allowed_networks: [ten]}\ntrusted_proxies: ['10.0.0.0/33', 'fe80::1%eth0', '::ffff:10.0.0.0/104']"), nil,
			[]string{"service.relay.allowed_networks[0]: must be a network", "trusted_proxies[0]: must be a network", "trusted_proxies[1]: must be a network", "trusted_proxies[2]: must be a network"}},
		{"local applications that are not there", with("  local: {acme: [acne], A: [acme]}"), nil,
			[]string{`service.local.A: a name holds`, `service.local.acme[0]: no application is called "acne"; did you mean acme?`}},
		{"an org that cannot be", with("  local: {a_b: [acme]}"), nil, []string{"service.local.a_b: no org has such an id"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			env := append(append([]string{}, environ...), keys(c.env...)...)
			expectProblems(t, problems(t, config.Source{Path: write(t, c.file), Environ: env}), c.want)
		})
	}
}
