package account

import "github.com/authzhost/authz/sdk/client"

// Session is a session as its user sees it (spec: hosted-api §7).
type Session struct {
	ID            string `json:"id"`
	UserID        string `json:"userId"`
	Org           string `json:"org,omitempty"`
	AuthMethod    string `json:"authMethod"`
	CreatedAt     int64  `json:"createdAt"`
	LastSeenAt    int64  `json:"lastSeenAt"`
	ExpiresAt     int64  `json:"expiresAt"`
	IdleExpiresAt int64  `json:"idleExpiresAt"`
	ClientAddress string `json:"clientAddress"`
	UserAgent     string `json:"userAgent"`
}

// StoredSession is a session with the digest of its token and the previews in
// force, by org.
type StoredSession struct {
	Session
	Hash  []byte                   `json:"hash"`
	Views map[string]client.ViewAs `json:"views,omitempty"`
}

// Sessions lie in the area of no org, since a session enters every org where its
// user has an active seat; Under finds those of a user.
var Sessions = Collection[StoredSession]{Name: "sessions", Key: func(s StoredSession) string { return s.UserID }}

// Live tells whether the session works at an instant.
func (s Session) Live(now int64) bool { return now < s.ExpiresAt && now < s.IdleExpiresAt }
