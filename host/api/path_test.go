package api

import (
	"bufio"
	"github.com/authzhost/authz/sdk/provider"
	"net/http"
	"strings"
	"testing"
)

func TestTheRawPathIsThePathAsItWasSent(t *testing.T) {
	for target, want := range map[string]string{
		"/v1/ping":                          "/v1/ping",
		"/v1/%70ing":                        "/v1/%70ing",
		`/v1/"%2Fv1%2Fping`:                 `/v1/"%2Fv1%2Fping`, // one operation of a strange name, not ping
		"/v1/ping?x=/v1/check":              "/v1/ping",
		"/v1/ping#/v1/check":                "/v1/ping",
		"/v1/ping#a?b":                      "/v1/ping",
		"/v1/../x//v1/ping":                 "/v1/../x//v1/ping",
		"/v1/http://x/v1/ping":              "/v1/http://x/v1/ping",
		"http://authz.example/v1/%2E?q":     "/v1/%2E",
		`http://authz.example/v1/"%2Fv1%2F`: `/v1/"%2Fv1%2F`,
		"http://authz.example":              "/",
		"*":                                 "*",
	} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("POST " + target + " HTTP/1.1\r\nHost: h\r\n\r\n")))
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		if got := rawPath(r); got != want {
			t.Errorf("%s: raw path %q, want %q", target, got, want)
		}
	}
	client, err := http.NewRequest("POST", "http://h/v1/%70ing?x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := rawPath(client); got != "/v1/%70ing" {
		t.Errorf("of a request that no server read: %q", got)
	}
}

func TestPathToOperation(t *testing.T) {
	known := func(op string) bool { _, ok := provider.LookupOperation(op); return ok }
	for path, want := range map[string]string{
		"/v1/ping":                        "ping",
		"/apps/docs/v1/ping":              "ping",
		"/api/v1/authz/v1/ping":           "ping", // the mount point holds the version segment
		"/v1/v1/ping":                     "ping",
		"/v1/epoch%2Ehead":                "epoch.head",
		"/v1/%70ing":                      "ping",
		"/v1/ping/":                       "ping/", // unknown, by name
		"/v1/PING":                        "PING",
		"/v1/%20ping":                     " ping",
		"/v1/a/b":                         "a/b",
		"/v1/a%2Fb":                       "a/b",
		"/v1/%2570ing":                    "%70ing", // decoded once
		"/v1/x/../ping":                   "x/../ping",
		"/v1//ping":                       "/ping",
		"/v1/pingx/v1/listGrants":         "listGrants",
		"/ping":                           "",
		"/v1":                             "",
		"/v1/":                            "",
		"/V1/ping":                        "",
		"/v1/%zz":                         "",
		"/v1/ping%":                       "",
		"/v1/ping/v1/listGrants":          "",
		"/v1/%70ing/v1/listGrants":        "", // decoded, the earlier one is known as well
		"/x/v1/epoch%2ehead/y/v1/z":       "",
		"/v1/a/v1/ping/v1/b":              "",
		"/v1/v1/check/v1/ping":            "",
		"/v1/%zz/v1/ping":                 "ping",
		"/v1/check%2Fv1%2Fping/v1/ping":   "ping",
		"/v1/ping/x/v1/listGrants/v1/abc": "",
	} {
		got, err := operationName(path, known)
		if (err != nil) != (want == "") || got != want {
			t.Errorf("%s: operation %q, error %v; want %q", path, got, err, want)
		}
	}
}
