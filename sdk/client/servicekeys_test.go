package client_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// serviceKeysCase is one line of service-keys.jsonl.
type serviceKeysCase struct {
	Kind      string              `json:"kind"`
	Value     *string             `json:"value"`
	Configs   []keysOfService     `json:"configs"`
	Construct string              `json:"construct"`
	Services  []client.ServiceKey `json:"services"`
	OK        bool                `json:"ok"`
	Error     *wantedError        `json:"error"`
	Cases     []struct {
		Input  *string         `json:"input"`
		Expect json.RawMessage `json:"expect"`
	} `json:"cases"`
}

// keysOfService is a client.ServiceKey that differences may print.
type keysOfService struct {
	ServiceID string   `json:"serviceId"`
	Keys      []string `json:"keys"`
}

func TestVectorsServiceKeys(t *testing.T) {
	vectors.Replay(t, "service-keys.jsonl", nil, func(t *testing.T, c serviceKeysCase) {
		switch c.Kind {
		case "env":
			services, err := client.ParseServiceKeys(orEmpty(c.Value))
			if faulty(t, c, err) {
				return
			}
			got := []keysOfService{}
			for _, s := range services {
				got = append(got, keysOfService(s))
			}
			if diff := cmp.Diff(c.Configs, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if c.Construct != "ok" && c.Construct != "error" {
				t.Fatalf("unknown outcome %q", c.Construct)
			}
			if _, err := client.NewServiceKeys(services); (err == nil) != (c.Construct == "ok") {
				t.Errorf("construction: %v, want %s", err, c.Construct)
			}
		case "construct":
			_, err := client.NewServiceKeys(c.Services)
			if !faulty(t, c, err) && !c.OK {
				t.Error("a case without an outcome")
			}
		case "verify":
			keys, err := client.NewServiceKeys(c.Services)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range c.Cases {
				got, err := json.Marshal(keys.Verify(orEmpty(v.Input)))
				if err != nil {
					t.Fatal(err)
				}
				if !jsonEqual(got, v.Expect) {
					t.Errorf("Verify(%q) = %s, want %s", orEmpty(v.Input), got, v.Expect)
				}
			}
		default:
			t.Fatalf("unknown kind %q", c.Kind)
		}
	})
}

// faulty compares the error with the case's and reports whether that ends it.
func faulty(t *testing.T, c serviceKeysCase, err error) bool {
	t.Helper()
	if c.Error == nil {
		if err != nil {
			t.Fatal(err)
		}
		return false
	}
	var typed *client.ServiceKeysError
	if !errors.As(err, &typed) || vectors.Wording() && typed.Message != c.Error.Message {
		t.Errorf("error %v, want %s", err, c.Error.Message)
	}
	return true
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestServiceKeysRefuseWhatWouldNameNobodyOrTwo(t *testing.T) {
	const key, other = "current-key-000001", "another-key-000001"
	for name, c := range map[string]struct {
		services []client.ServiceKey
		service  string
		want     string // "" when accepted
	}{
		"a service without an id": {[]client.ServiceKey{{Keys: []string{key}}}, "", `service "": serviceId must not be empty`},
		"a key of two services": {[]client.ServiceKey{{ServiceID: "billing", Keys: []string{other, key}}, {ServiceID: "search", Keys: []string{key}}},
			"search", `service "search": a key is also configured for service "billing"`},
		"one service twice, its key twice":  {[]client.ServiceKey{{ServiceID: "billing", Keys: []string{key, key}}, {ServiceID: "billing", Keys: []string{key, other}}}, "", ""},
		"sixteen characters out of the BMP": {[]client.ServiceKey{{ServiceID: "billing", Keys: []string{strings.Repeat("𝄞", 16)}}}, "", ""},
		"fifteen characters out of the BMP": {[]client.ServiceKey{{ServiceID: "billing", Keys: []string{strings.Repeat("𝄞", 15)}}}, "billing", `service "billing": keys must be at least 16 characters`},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := client.NewServiceKeys(c.services)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range c.services {
					for _, k := range s.Keys {
						want := client.ServiceKeyResult{OK: true, ServiceID: s.ServiceID, Principal: authz.ServicePrincipal(s.ServiceID)}
						if got := keys.Verify(k); got != want {
							t.Errorf("Verify = %+v, want %+v", got, want)
						}
					}
				}
				return
			}
			var typed *client.ServiceKeysError
			if !errors.As(err, &typed) || typed.ServiceID != c.service || typed.Message != c.want || keys != nil {
				t.Errorf("%v, %#v, want %s", keys, err, c.want)
			}
		})
	}
}

func TestServiceKeysAreNeverPrinted(t *testing.T) {
	services := []client.ServiceKey{{ServiceID: "billing", Keys: []string{"current-key-000001", "previous-key-00001"}}, {ServiceID: "search", Keys: []string{"short"}}}
	keys, err := client.NewServiceKeys(services[:1])
	if err != nil {
		t.Fatal(err)
	}
	var printed []string
	for _, v := range []any{services, &services, services[0], &services[0], map[string]client.ServiceKey{"k": services[1]}, keys, *keys, struct{ Keys *client.ServiceKeys }{keys}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
			printed = append(printed, fmt.Sprintf(verb, v))
		}
		asJSON, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		asYAML, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var logged strings.Builder
		slog.New(slog.NewTextHandler(&logged, nil)).Info("text", "v", v)
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("json", "v", v)
		printed = append(printed, string(asJSON), string(asYAML), logged.String(), fmt.Sprint(v))
	}
	_, short := client.NewServiceKeys(services)
	_, shared := client.NewServiceKeys([]client.ServiceKey{services[0], {ServiceID: "other", Keys: services[0].Keys}})
	_, unparsed := client.ParseServiceKeys("current-key-000001")
	for _, err := range []error{short, shared, unparsed} {
		if err == nil {
			t.Fatal("a faulty configuration was accepted")
		}
		printed = append(printed, fmt.Sprintf("%v %+v %#v", err, err, err))
	}
	digest := fmt.Sprint(sha256.Sum256([]byte("current-key-000001")))
	digest = digest[1 : len(digest)-1]
	for _, text := range printed {
		for _, secret := range []string{"current-key", "previous-key", "short", fmt.Sprintf("%x", "current-key"), digest} {
			if strings.Contains(strings.ToLower(text), secret) {
				t.Errorf("printed %q", text)
			}
		}
	}
	if got := services[0].String() + ", " + keys.String(); got != `service "billing" (keys: 2), service keys (2)` {
		t.Errorf("String: %s", got)
	}
}

// FuzzParseServiceKeys checks that what parses is clean, says the same when
// written out again, and verifies when it can be constructed.
func FuzzParseServiceKeys(f *testing.F) {
	for _, seed := range []string{"", ";;", "billing:current-key-000001,previous-key-00001;search:another-key-000001", " b : k , ; \n", "billing",
		":k", "b:", "b:k:x", "a:Bearer 0123456789abcdef", "a:current-key-000001;b:current-key-000001", "\u0085:\u00a0k"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, env string) {
		services, err := client.ParseServiceKeys(env)
		if err != nil {
			var typed *client.ServiceKeysError
			if !errors.As(err, &typed) || services != nil {
				t.Fatalf("%v, %#v", services, err)
			}
			return
		}
		var again []string
		for _, s := range services {
			if s.ServiceID == "" || strings.TrimSpace(s.ServiceID) != s.ServiceID || strings.ContainsAny(s.ServiceID, ":;") {
				t.Fatalf("service id %q", s.ServiceID)
			}
			for _, k := range s.Keys {
				if k == "" || strings.TrimSpace(k) != k || strings.ContainsAny(k, ",;") {
					t.Fatalf("key %q", k)
				}
			}
			again = append(again, s.ServiceID+":"+strings.Join(s.Keys, ","))
		}
		reparsed, err := client.ParseServiceKeys(strings.Join(again, ";"))
		if err != nil || !slices.EqualFunc(services, reparsed, func(a, b client.ServiceKey) bool {
			return a.ServiceID == b.ServiceID && slices.Equal(a.Keys, b.Keys)
		}) {
			t.Fatalf("%q is not what it was: %v", again, err)
		}
		keys, err := client.NewServiceKeys(services)
		if err != nil {
			return
		}
		var all []string
		for _, s := range services {
			all = append(all, s.Keys...)
		}
		for _, s := range services {
			for _, k := range s.Keys {
				if got := keys.Verify("Bearer " + k); !got.OK || got.ServiceID != s.ServiceID || got.Principal != authz.ServicePrincipal(s.ServiceID) {
					t.Fatalf("Verify(Bearer %q) = %+v", k, got)
				}
				if got := keys.Verify("Bearer " + k + "x"); got.OK != slices.Contains(all, k+"x") {
					t.Fatalf("Verify(Bearer %qx) = %+v", k, got)
				}
			}
		}
	})
}
