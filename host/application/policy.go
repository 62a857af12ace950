package application

import (
	"context"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/storage"
)

// role judges the text of a role, its approval policy included.
func (s *shape) role(name, description string, patterns []string, r *authz.Requestable) {
	s.text("name", name, maxName)
	s.text("description", description, maxText)
	s.texts("pattern", patterns)
	if r == nil {
		return
	}
	for _, p := range r.Prompts {
		s.id("prompt id", p.ID)
		s.text("prompt label", p.Label, maxText)
		for _, option := range p.Options {
			s.text("prompt option", option, maxText)
		}
	}
	for _, stage := range r.Stages {
		s.text("stage roleId", stage.RoleID, maxID)
		if p := stage.Predicate; p != nil {
			s.texts("predicate member", []string{p.GroupID, p.OrgID, p.Subject, p.Pattern})
		}
	}
}

// checkRequestable judges how a role may be asked for and rebuilds it from the
// members of its kinds (spec: application §12.1); nil stays nil.
func (a *Application) checkRequestable(ctx context.Context, in *authz.Requestable) (*authz.Requestable, error) {
	return checkPolicy(in, a.hierarchy(ctx))
}

// hierarchy asks, when it is needed, whether anybody has a manager.
func (a *Application) hierarchy(ctx context.Context) func() (bool, error) {
	return func() (bool, error) { return a.anyManager(ctx) }
}

// checkPolicy is checkRequestable; populated says whether anybody has a manager.
func checkPolicy(in *authz.Requestable, populated func() (bool, error)) (*authz.Requestable, error) {
	if in == nil {
		return nil, nil
	}
	out := &authz.Requestable{MaxDurationMs: in.MaxDurationMs, RequireExpiry: in.RequireExpiry}
	if in.MaxDurationMs < 0 || in.MaxDurationMs > authz.MaxInstant {
		return nil, authz.Validation("requestable.maxDurationMs must be a finite number above 0")
	}
	asked := map[string]bool{}
	for _, p := range in.Prompts {
		switch {
		case asked[p.ID]:
			return nil, authz.Validation("prompt id %s is repeated", spell.Quote(p.ID))
		case p.Kind != "" && p.Kind != catalog.PromptText && p.Kind != catalog.PromptSelect:
			return nil, authz.Validation("unknown prompt kind %s (expected text | select)", spell.Quote(p.Kind))
		}
		asked[p.ID] = true
		p.Options = slices.Clone(p.Options)
		out.Prompts = append(out.Prompts, p)
	}
	var err error
	if out.Stages, err = checkStages(in.Stages, populated); err != nil {
		return nil, err
	}
	return out, nil
}

// checkStages judges an approval policy and copies it, each stage rebuilt from the
// members of its kind.
func checkStages(in []authz.Stage, populated func() (bool, error)) ([]authz.Stage, error) {
	if len(in) == 0 {
		return nil, authz.Validation("requestable without a resolvable policy: declare at least one approval stage")
	}
	out := make([]authz.Stage, 0, len(in))
	for _, stage := range in {
		kept, err := checkStage(stage, populated)
		if err != nil {
			return nil, err
		}
		out = append(out, kept)
	}
	return out, nil
}

func checkStage(in authz.Stage, populated func() (bool, error)) (authz.Stage, error) {
	out := authz.Stage{Kind: in.Kind}
	switch in.Kind {
	case authz.StageAuto:
		if in.Predicate == nil {
			return out, authz.Validation("an auto stage needs a predicate")
		}
		predicate, err := checkPredicate(*in.Predicate)
		out.Predicate = &predicate
		return out, err
	case authz.StageNamedApprovers:
		if out.RoleID = in.RoleID; in.RoleID == "" {
			return out, authz.Validation("a named_approvers stage needs a roleId")
		}
		return out, nil
	case authz.StageManagement:
		if in.Layers != nil {
			layers := *in.Layers
			if layers < 1 || layers > authz.MaxInstant {
				return out, authz.Validation("management layers must be at least 1 (1 is the direct manager)")
			}
			out.Layers = &layers
		}
		some, err := populated()
		if err == nil && !some {
			err = authz.Validation("policy references management layers but no reporting hierarchy is populated")
		}
		return out, err
	}
	return out, authz.Validation("unknown stage kind %s (expected auto | named_approvers | management)", spell.Quote(in.Kind))
}

func checkPredicate(in authz.Predicate) (authz.Predicate, error) {
	out := authz.Predicate{Type: in.Type}
	missing := func(member string) error {
		return authz.Validation("predicate %s needs its %s", spell.Quote(in.Type), member)
	}
	switch in.Type {
	case authz.PredicateInGroup:
		if out.GroupID = in.GroupID; in.GroupID == "" {
			return out, missing("groupId")
		}
	case authz.PredicateInOrg:
		if out.OrgID = in.OrgID; in.OrgID == "" {
			return out, missing("orgId")
		}
	case authz.PredicateMemberOf:
		out.Subject = in.Subject
		if _, _, ok := authz.ParseSubject(in.Subject); !ok {
			return out, authz.Validation("%s is not a valid subject id", spell.Quote(in.Subject))
		}
	case authz.PredicateHoldsPattern:
		out.Pattern = in.Pattern
		if err := authz.ValidatePattern(in.Pattern); err != nil {
			return out, authz.Validation("%s", err.Reason)
		}
	default:
		return out, authz.Validation("unknown predicate type %s (expected in_group | in_org | member_of | holds_pattern)",
			spell.Quote(in.Type))
	}
	return out, nil
}

// anyManager reports whether some stored user has a manager.
func (a *Application) anyManager(ctx context.Context) (bool, error) {
	has := true
	for _, err := range a.store.ListUsers(ctx, storage.UserFilter{HasManager: &has}, storage.Page{Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}
