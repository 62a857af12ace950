package account

// Kinds of API keys.
const (
	KeyAdmin     = "admin"
	KeyPrincipal = "principal"
	KeyPublisher = "publisher"
)

// APIKey is a key as it is listed (spec: hosted-api §7). Exactly one of UserID,
// ServiceID and Namespace is set.
type APIKey struct {
	ID                 string `json:"id"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	Hint               string `json:"hint"`
	UserID             string `json:"userId,omitempty"`
	ServiceID          string `json:"serviceId,omitempty"`
	Namespace          string `json:"namespace,omitempty"`
	CreatedAt          int64  `json:"createdAt"`
	CreatedBy          string `json:"createdBy"`
	ExpiresAt          *int64 `json:"expiresAt"`
	LastUsedAt         *int64 `json:"lastUsedAt"`
	RotatedAt          *int64 `json:"rotatedAt"`
	PreviousValidUntil *int64 `json:"previousValidUntil"`
	RevokedAt          *int64 `json:"revokedAt"`
	Etag               string `json:"etag"`
}

// StoredKey is a key with the digests of its tokens, and the admin key that created
// it, which it does not outlive.
type StoredKey struct {
	APIKey
	CreatedByKey string `json:"createdByKey,omitempty"`
	Hash         []byte `json:"hash"`
	PreviousHash []byte `json:"previousHash,omitempty"`
}

// Keys are by id. KeyOrgs, in the area of no org, says whose a key is: the org of
// the credential is compared before anything of an org is looked up.
var (
	Keys    = Collection[StoredKey]{Name: "api_keys", Key: func(k StoredKey) string { return k.UserID }}
	KeyOrgs = Collection[string]{Name: "key_orgs"}
)

// Live tells whether the key works at an instant, its seat apart.
func (k APIKey) Live(now int64) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || now < *k.ExpiresAt)
}
