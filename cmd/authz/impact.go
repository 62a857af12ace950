package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// plannedImpact is a plan with what it would change for people, where that was asked.
type plannedImpact struct {
	*apply.Plan
	Impact *provider.Impact `json:"impact,omitempty"`
}

// impactOf asks what a plan would change.
func (a *applyCommand) impactOf(ctx context.Context, app *application, plan *apply.Plan) (*provider.Impact, error) {
	in, impact := plan.Supposing(), new(provider.Impact)
	if app.hosted != nil {
		if withoutAccountRows(&in.With) {
			fmt.Fprintln(a.command.ErrOrStderr(), "note: this does not show what the cloud.* rows of the file would change: they are account data")
		}
		ctx, cancel := context.WithTimeout(ctx, longTimeout)
		defer cancel()
		return impact, app.hosted.Ask(ctx, http.MethodPost, []string{"org", "plan"}, nil, in, impact)
	}
	return impact, app.long(ctx, "plan", in, impact)
}

// withoutAccountRows takes out what no application can judge: rows and roles of cloud.*.
func withoutAccountRows(in *provider.Supposed) (some bool) {
	grants, roles := len(in.Grants), len(in.Roles)
	in.Grants = slices.DeleteFunc(in.Grants, func(g provider.GrantInput) bool { return cloud.IsPattern(g.Pattern) })
	in.Roles = slices.DeleteFunc(in.Roles, func(r provider.SupposedRole) bool { return slices.ContainsFunc(r.Patterns, cloud.IsPattern) })
	return len(in.Grants) < grants || len(in.Roles) < roles
}

func printImpact(w io.Writer, i *provider.Impact) {
	if i == nil {
		return
	}
	gained := 0
	for _, e := range i.Changes {
		if e.Allowed {
			gained++
		}
	}
	fmt.Fprintf(w, "it would change %d answers, of %d people and services that it concerns: %d gained, %d lost\n", len(i.Changes), i.Checked, gained, len(i.Changes)-gained)
	for _, e := range i.Changes {
		sign, where := "-", " at "+plain(e.Scope)
		if e.Allowed {
			sign = "+"
		}
		if e.Scope == authz.Global {
			where = ""
		}
		fmt.Fprintf(w, "  %s %s %s%s\n", sign, plain(e.Subject), plain(e.Key), where)
	}
	for _, subject := range i.Unknown {
		fmt.Fprintf(w, "not shown: what changes for the people of %s, who are not recorded\n", plain(subject))
	}
	for _, scope := range i.Unresolved {
		fmt.Fprintf(w, "not shown: what changes at %s, whose ancestors are not known\n", plain(scope))
	}
	if i.More {
		fmt.Fprintln(w, "there may be more: it concerns more people, or changes more, than one plan shows")
	}
}
