package account

import (
	"context"
	"regexp"
	"strconv"
)

// Modes of an org.
const (
	ModeUnlinked  = "unlinked"
	ModeLinked    = "linked"
	ModeFederated = "federated"
)

// Org is the record of an organization (spec: hosted-api §7).
type Org struct {
	ID                 string  `json:"id"`
	Name               string  `json:"name"`
	Mode               string  `json:"mode"`
	PrimaryApplication *string `json:"primaryApplication"`
	CreatedAt          int64   `json:"createdAt"`

	// Moving is the application whose move of authority is under way. Nobody writes the
	// org domain meanwhile.
	Moving string `json:"moving,omitempty"`

	Etag string `json:"etag"`
}

// Orgs holds each org in its own area, under OrgID. OrgIDs, in the area of no org,
// names them all.
var (
	Orgs   = Collection[Org]{Name: "orgs"}
	OrgIDs = Collection[struct{}]{Name: "org_ids", Key: func(struct{}) string { return "" }}
)

// OrgID is the id of the one record of Orgs in an org's area.
const OrgID = "org"

var orgID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,56}$`)

// ValidOrgID tells whether an id has the form of an org's (spec: hosted-api §7),
// which makes __org_<id> a partition name.
func ValidOrgID(id string) bool { return orgID.MatchString(id) }

// FirstEtag is that of a new object.
const FirstEtag = `"1"`

// NextEtag follows etag. An etag is part of the value, not the version of its
// record, so that what a host notes in passing (lastUsedAt) refuses nobody's
// If-Match.
func NextEtag(etag string) string {
	text, err := strconv.Unquote(etag)
	if err != nil {
		return FirstEtag
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return FirstEtag
	}
	return strconv.Quote(strconv.FormatUint(n+1, 10))
}

// CountOrgs is how many orgs there are.
func (s *Store) CountOrgs(ctx context.Context) (n int, err error) {
	for _, err := range OrgIDs.All(ctx, s, "") {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
