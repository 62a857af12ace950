package service

import (
	"context"

	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Evaluate tells whether the machine subject of a principal key holds any of the
// keys at a scope (spec: hosted-api §13): cloud.* by account data, authz_internal.*
// by the org root's. Nothing is metered or stored.
func (s *Service) Evaluate(ctx context.Context, a *Access, in EvaluateInput) (bool, error) {
	if err := in.Check(); err != nil {
		return false, err
	}
	if in.Principal != nil && *in.Principal != authz.ServicePrincipal(a.Caller.ServiceID) {
		return false, fault.Cloud("principal_mismatch", "a principal key is evaluated for its own service only")
	}
	scope := in.Scope
	if scope == "" {
		scope = authz.Global
	}
	if err := s.evaluable(ctx, a.Org.ID, in.Key, scope); err != nil {
		return false, err
	}
	a.fresh = in.Fresh
	var ofRoot []string
	for _, key := range in.Key {
		if !cloud.IsPattern(key) {
			ofRoot = append(ofRoot, key)
			continue
		}
		if allowed, err := a.Can(ctx, key, scope); err != nil || allowed {
			return allowed, err
		}
	}
	for _, key := range ofRoot {
		allowed, _, err := s.Root.Decide(ctx, Question{Org: a.Org.ID, Principal: a.Caller.Principal(), Key: key, Fresh: in.Fresh})
		if err != nil || allowed {
			return allowed, err
		}
	}
	return false, nil
}

// evaluable refuses what applications decide, and keys that nobody knows.
func (s *Service) evaluable(ctx context.Context, org string, keys []string, scope string) error {
	if _, isApp := cloud.AppOf(scope); scope != authz.Global && !isApp {
		owner, _, err := s.Applications.OwnerID(ctx, org, authz.NamespaceOf(authz.ScopeType(scope)))
		if err != nil {
			return err
		}
		return errNotEvaluable("scope "+spell.Quote(scope), owner)
	}
	for _, key := range keys {
		ns := authz.NamespaceOf(key)
		if ns != cloud.Namespace && ns != authz.InternalNamespace {
			owner, _, err := s.Applications.OwnerID(ctx, org, ns)
			if err != nil {
				return err
			}
			return errNotEvaluable("key "+spell.Quote(key), owner)
		}
	}
	for _, key := range keys {
		if !cloud.Evaluable().HasKey(key) {
			return fault.UnknownPermission(cloud.Evaluable().UnknownPermission(key, authz.ExpectedKey))
		}
	}
	return nil
}
