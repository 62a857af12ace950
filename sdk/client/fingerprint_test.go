package client

import (
	"testing"

	"github.com/authzhost/authz/sdk/catalog"
)

func TestTheFingerprintIsThatOfTheSpec(t *testing.T) {
	for document, want := range map[string]string{
		`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`:                              "1400880",
		`{"namespaces":["docs"],"includeAuthzInternal":false,"permissions":{"docs.files.read":true}}`: "bcq576",
	} {
		in, err := catalog.ParseJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		c, err := catalog.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := fingerprint(c); got != want {
			t.Errorf("%v: %s, want %s", c.Namespaces(), got, want)
		}
	}
}
