package orgroot

import (
	"context"
	"sync"

	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/authz"
)

// internalKeys are the keys that gate the org domain.
var internalKeys = sync.OnceValue(func() []string { return cloud.Evaluable().KeysMatching(authz.InternalNamespace + ".*") })

// Beyond asks every linked application, the org root among them, since any may become
// the root; and the hosted root, whose members hold what it holds.
func (r *Root) Beyond(ctx context.Context, org string, caller, other authz.Principal) ([]string, error) {
	linked, err := r.apps.AllLinked(ctx, org)
	if err != nil {
		return nil, err
	}
	root, err := r.apps.Root(ctx, org)
	switch {
	case err == nil && root.Hosted():
		linked = append(linked, root)
	case err != nil && !isCode(err, "no_org_root"):
		return nil, err
	}
	beyond := make([][]string, len(linked))
	if err := eightAtATime(ctx, len(linked), func(ctx context.Context, i int) (err error) {
		beyond[i], err = r.beyondAt(ctx, linked[i], caller, other)
		return err
	}); err != nil {
		return nil, failed(err)
	}
	lacking := map[string]bool{}
	for _, keys := range beyond {
		for _, key := range keys {
			lacking[key] = true
		}
	}
	var keys []string
	for _, key := range internalKeys() {
		if lacking[key] {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// beyondAt is Beyond at one application. The caller is asked for only where the other
// holds something.
func (r *Root) beyondAt(ctx context.Context, to applications.Asked, caller, other authz.Principal) ([]string, error) {
	held, err := r.heldAt(ctx, to, other)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	own, err := r.heldAt(ctx, to, caller)
	if err != nil {
		return nil, err
	}
	var keys []string
	for key := range held {
		if !own[key] {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// heldAt are the keys of authz_internal that a principal holds at * of an application,
// by rows read now.
func (r *Root) heldAt(ctx context.Context, to applications.Asked, p authz.Principal) (map[string]bool, error) {
	data, err := to.Relay.GetSubjectAccess(ctx, p)
	if err != nil {
		return nil, err
	}
	return held(compiled.Compile(vocabulary(), &data, r.clock())), nil
}

func held(by *compiled.Access) map[string]bool {
	keys := map[string]bool{}
	if !by.Active() {
		return keys
	}
	for _, name := range internalKeys() {
		key, _ := vocabulary().Lookup(name)
		if allowed, _ := by.Decide(key, compiled.GlobalChain); allowed {
			keys[name] = true
		}
	}
	return keys
}
