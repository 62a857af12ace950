package service

// GateKind says what a gate asks for.
type GateKind int

// The gates (spec: hosted-api §5).
const (
	GatePublic    GateKind = iota
	GateSession            // any live session; no org
	GateOperator           // a session of the operator of the host; no org
	GateSeat               // active seat of any kind, by session or admin key
	GateOwner              // active owner seat, by session or admin key
	GateMe                 // an active seat, or a principal key of the org
	GateCloud              // a cloud.* key, decided by account data
	GateOrg                // an authz_internal.* key at *, decided by the org root
	GatePublisher          // a publisher key; no org in the path
	GatePrincipal          // a principal key of the org
)

// Gate is what an endpoint asks of its caller.
type Gate struct {
	Kind  GateKind
	Key   string // of GateCloud and GateOrg
	AtApp bool   // GateCloud: at cloud.app:<id> of the path, else at *

	// Recovers marks the gates that a bootstrap session of an owner passes whatever
	// revokes and the org root say of that owner: those of seats, keys and account
	// revokes, by which a locked-out org lets somebody in again.
	Recovers bool
}

// Recoverable is the gate with Recovers.
func (g Gate) Recoverable() Gate {
	g.Recovers = true
	return g
}

// The gates of the endpoint table.
var (
	Public     = Gate{Kind: GatePublic}
	AnySession = Gate{Kind: GateSession}
	Operator   = Gate{Kind: GateOperator}
	AnySeat    = Gate{Kind: GateSeat}
	Owner      = Gate{Kind: GateOwner}
	Me         = Gate{Kind: GateMe}
	Publisher  = Gate{Kind: GatePublisher}
	Principal  = Gate{Kind: GatePrincipal}
)

// Cloud is the gate <key>@*.
func Cloud(key string) Gate { return Gate{Kind: GateCloud, Key: key} }

// CloudAtApp is the gate <key>@app.
func CloudAtApp(key string) Gate { return Gate{Kind: GateCloud, Key: key, AtApp: true} }

// OrgKey is the gate of an authz_internal.* key.
func OrgKey(key string) Gate { return Gate{Kind: GateOrg, Key: key} }

// Admits tells whether a credential of the kind may call an endpoint with this gate
// at all; if not the answer is credential_not_allowed, before the org is looked at.
func (g Gate) Admits(kind CallerKind) bool {
	switch g.Kind {
	case GatePublic:
		return true
	case GateSession, GateOperator:
		return kind == CallerSession
	case GateSeat, GateOwner:
		return kind == CallerSession || kind == CallerAdmin
	case GateMe, GateCloud, GateOrg:
		return kind != CallerPublisher
	case GatePublisher:
		return kind == CallerPublisher
	case GatePrincipal:
		return kind == CallerPrincipal
	}
	return false
}
