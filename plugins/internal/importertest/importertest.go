// Package importertest is for tests of importers: it takes their readings apart. Tests
// alone import it.
package importertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// Reading is what an importer told, sorted into what an application takes.
type Reading struct {
	directory.Snapshot
	Begin    directory.Begin
	Warnings []string
	Ended    bool
}

// Read takes a reading by itself, not by directory.Collect, so that the order of its
// entries is seen.
func Read(ctx context.Context, i directory.Importer) (r Reading, err error) {
	begun := false
	for entry, err := range i.Import(ctx, directory.Request{}) {
		if err != nil {
			return r, err
		}
		if _, begins := entry.(directory.Begin); begins == begun || r.Ended {
			return r, errors.New("an entry out of order")
		}
		begun = true
		r.take(entry)
	}
	if !r.Ended {
		return r, errors.New("the reading stopped without an error and without its end")
	}
	return r, nil
}

func (r *Reading) take(entry directory.Entry) {
	switch e := entry.(type) {
	case directory.Begin:
		r.Begin = e
		for _, d := range e.Datasets {
			switch d {
			case directory.CapUsers:
				r.Users = []directory.User{}
			case directory.CapGroups:
				r.Groups = []directory.Group{}
			case directory.CapMemberships:
				r.Memberships = map[string][]string{}
			case directory.CapReporting:
				r.ReportingEdges = map[string]string{}
			case directory.CapOrgs:
				r.Orgs = map[string][]string{}
			}
		}
	case directory.Group:
		r.Groups = append(r.Groups, e)
	case directory.User:
		r.Users = append(r.Users, e)
	case directory.Membership:
		r.Memberships[e.UserID] = joined(r.Memberships[e.UserID], e.Groups)
	case directory.ReportingEdge:
		r.ReportingEdges[e.UserID] = e.ManagerID
	case directory.OrgMembership:
		r.Orgs[e.UserID] = joined(r.Orgs[e.UserID], e.Orgs)
	case directory.Warning:
		r.Warnings = append(r.Warnings, e.Message)
	case directory.End:
		r.Ended = true
	}
}

// joined is what two entries told of one person; a list that is told empty stays one.
func joined(told, more []string) []string {
	if told == nil {
		return more
	}
	return append(slices.Clip(told), more...)
}

// Fails wants a reading that tells nothing and ends in a refusal, or else an outage,
// with these words. It returns the error.
func Fails(t *testing.T, i directory.Importer, refused bool, words ...string) error {
	t.Helper()
	entries := 0
	var err error
	for entry, e := range i.Import(t.Context(), directory.Request{}) {
		if err = e; entry != nil {
			entries++
		}
	}
	if err == nil || entries > 0 {
		t.Fatalf("%d entries were told, and then %v", entries, err)
	}
	var refusal *authz.WriteRejectedError
	var outage *authz.UnavailableError
	if refused && (!errors.As(err, &refusal) || refusal.Code != authz.CodeValidation) || !refused && !errors.As(err, &outage) {
		t.Errorf("an error of type %T: %v", err, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q says nothing of %q", err, w)
		}
	}
	return err
}
