package apply

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/internal/pages"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Grantable asks about every pattern that the plan writes, and about every role where
// it is granted, before anything is changed. Only the administration socket answers
// that; elsewhere the write itself does.
func (p *Plan) Grantable(ctx context.Context, app pages.Caller) error {
	j := judge{app, p.patterns, map[string]string{}}
	for _, step := range p.steps {
		var err error
		switch step.op {
		case "createRole":
			input := step.params["input"].(fields)
			err = j.role(ctx, input["id"], input)
		case "updateRole":
			err = j.role(ctx, step.params["roleId"], step.params["input"].(fields))
		case "createGrants":
			for _, in := range step.params["inputs"].([]provider.GrantInput) {
				if err = j.grant(ctx, in); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// judge asks the same question once.
type judge struct {
	app      pages.Caller
	patterns map[string][]string
	reasons  map[string]string // by question
}

func (j judge) why(ctx context.Context, op string, params fields) (string, error) {
	question := fmt.Sprint(op, " ", params["pattern"], " ", authz.ScopeType(fmt.Sprint(params["scope"])))
	if known, ok := j.reasons[question]; ok {
		return known, nil
	}
	var result struct{ Reason string }
	err := j.app.Call(ctx, op, params, &result)
	j.reasons[question] = result.Reason
	return result.Reason, err
}

func (j judge) known(ctx context.Context, what, pattern string) error {
	reason, err := j.why(ctx, "validateKnownPattern", fields{"pattern": pattern})
	if err == nil && reason != "" {
		err = authz.Validation("%s: %s", what, reason)
	}
	return err
}

func (j judge) role(ctx context.Context, id any, input fields) error {
	patterns, _ := input["patterns"].([]string)
	for _, pattern := range patterns {
		if err := j.known(ctx, fmt.Sprintf("role %s", id), pattern); err != nil {
			return err
		}
	}
	return nil
}

func (j judge) grant(ctx context.Context, in provider.GrantInput) error {
	k := key{in.Subject, in.RoleID, in.Pattern, in.Scope}
	given := j.patterns[in.RoleID]
	if in.RoleID == "" {
		given = []string{in.Pattern}
		if err := j.known(ctx, "grant "+k.String(), in.Pattern); err != nil {
			return err
		}
	}
	if in.Scope == authz.Global {
		return nil
	}
	reason := fmt.Sprintf("the role %s has no patterns", in.RoleID)
	for _, pattern := range given {
		var err error
		if reason, err = j.why(ctx, "validateGrantableAt", fields{"pattern": pattern, "scope": in.Scope}); err != nil || reason == "" {
			return err
		}
	}
	return authz.Validation("grant %s: %s", k, reason)
}
