package file

import (
	"context"
	"errors"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// Sorting entries and following names takes long in large files: it ends with the
// reading, before anything is told.
func TestLDIFIsNotReadOnForNobody(t *testing.T) {
	o := Defaults("people.ldif")
	for name, text := range map[string]string{
		"entries": "dn: cn=a\ncn: a\n",
		"people":  "dn: cn=a\nobjectClass: user\nuid: a\n",
		"groups":  "dn: cn=a\nobjectClass: group\ncn: a\nmember: cn=b\n\ndn: cn=b\nobjectClass: user\nuid: b\n",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := &reading{ctx: ctx, o: &o, datasets: map[directory.ImporterCapability]bool{}}
		var outage *authz.UnavailableError
		if err := r.ldif([]*document{{name: "people.ldif", text: []byte(text)}}); !errors.As(err, &outage) || len(r.entries) > 0 {
			t.Errorf("%s: %d entries, %v", name, len(r.entries), err)
		}
	}
}
