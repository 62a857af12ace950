package compare

import (
	"github.com/authzhost/authz/bench/authz"
	"github.com/authzhost/authz/bench/casbin"
	"github.com/authzhost/authz/bench/cedar"
	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/opa"
	"github.com/authzhost/authz/bench/openfga"
)

// Peers lists every line of the comparison. The first two are what the ratios
// refer to.
func Peers() []engine.Peer {
	return []engine.Peer{
		authz.Client(),
		authz.Snapshot(),
		casbin.Enforcer(),
		casbin.CachedEnforcer(),
		cedar.Policies(),
		cedar.Sliced(),
		opa.Prepared(),
		openfga.Relations(),
		openfga.Conditions(),
		openfga.Indexed(),
	}
}
