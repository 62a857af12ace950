package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

func TestAdviceOffersWhatIsHandedInBesideTheKeys(t *testing.T) {
	in, err := catalog.ParseJSON([]byte(`{"namespaces": ["docs"], "permissions": {"docs.files.read": true},
		"imports": {"zoom": {"permissions": {"zoom.host": true}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	more := []string{"zoom.rooms.read", "zoom.host", "zoom.rooms.raed"}
	a := c.Advise("zoom.rooms.raed", authz.ExpectedPattern, more)
	// By distance: an edit of two, and a key that ends alike; the value itself and
	// a name that is there twice are not offered again.
	if diff := cmp.Diff([]string{"zoom.rooms.read"}, a.DidYouMean); diff != "" || a.Hint == "" || a.Suggestion != "" {
		t.Errorf("advice %+v (-want +got):\n%s", a, diff)
	}
	if a := c.Advise("zoom.hosts", authz.ExpectedPattern, more); a.List() != `"zoom.host"` {
		t.Errorf("a key of both pools is offered as %s", a.List())
	}
	if a := c.Advise("docs.files", authz.ExpectedPattern, nil); a.Suggestion != "docs.files.*" || len(a.DidYouMean) > 0 || a.Hint != "" {
		t.Errorf("advice on a group: %+v", a)
	}
	if got := c.UnknownPermission("zoom.rooms.raed", authz.ExpectedPattern).DidYouMean; len(got) != 0 {
		t.Errorf("without them %v is offered", got)
	}
}
