package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// completionTimeout bounds what a press of the tab key may take.
const completionTimeout = time.Second

// candidates asks for what may stand in one place, as value and description with a
// tab between them. What cannot be had is left out: a completion never fails.
type candidates func(ctx context.Context, a *application) []string

// complete offers what a host says within a moment, without files.
func (a *admin) complete(sources ...candidates) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmp.Or(c.Context(), context.Background()), completionTimeout)
		defer cancel()
		app, err := a.open(ctx)
		if err != nil {
			if local, localErr := a.local(); localErr == nil && a.url == "" && a.org == "" { // several applications: name them
				app = &application{asked: local.Caller(), provider: local.Caller(), local: local}
			} else {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
		}
		var offered []string
		for _, source := range sources {
			for _, value := range source(ctx, app) {
				if strings.HasPrefix(value, typed) {
					offered = append(offered, value)
				}
			}
		}
		slices.Sort(offered)
		return slices.Compact(offered), cobra.ShellCompDirectiveNoFileComp
	}
}

// argument completes the first argument only.
func (a *admin) argument(sources ...candidates) cobra.CompletionFunc {
	complete := a.complete(sources...)
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(c, args, typed)
	}
}

// completes registers the completion of a flag.
func (a *admin) completes(c *cobra.Command, flag string, sources ...candidates) {
	_ = c.RegisterFlagCompletionFunc(flag, a.complete(sources...))
}

func described(id, name string) string {
	if name == "" || name == id {
		return id
	}
	return id + "\t" + name
}

func applicationNames(ctx context.Context, a *application) []string {
	if a.hosted != nil {
		var ids []string
		_ = hostedclient.Rows(ctx, a.hosted, []string{"applications"}, "applications", nil, pageSize, func(app struct{ ID, Name string }) error {
			ids = append(ids, described(app.ID, app.Name))
			return nil
		}) // what came before an error is offered
		return ids
	}
	if a.local == nil {
		return nil
	}
	status, _ := a.local.Status(ctx) // nothing to offer then
	return status.Applications
}

// offered collects the ids of a list's first page.
func offered[T any](ctx context.Context, a *application, op, field string, p fields, of func(T) []string) (ids []string) {
	_ = each(ctx, a, op, field, p, pageSize, func(r T) error { // what came before an error is offered
		ids = append(ids, of(r)...)
		return nil
	})
	return ids
}

func roleIDs(ctx context.Context, a *application) []string {
	return offered(ctx, a, "listRoles", "roles", nil, func(r authz.Role) []string { return []string{described(r.ID, r.Name)} })
}

func groupIDs(ctx context.Context, a *application) []string {
	return offered(ctx, a, "listGroups", "groups", nil, func(g authz.Group) []string { return []string{described(g.ID, g.Name)} })
}

func grantIDs(ctx context.Context, a *application) []string {
	return offered(ctx, a, "listGrants", "grants", nil, func(g authz.Grant) []string {
		return []string{described(g.ID, g.Subject+" "+grantGives(g)+" at "+g.Scope)}
	})
}

func revokeIDs(ctx context.Context, a *application) []string {
	return offered(ctx, a, "listRevokes", "revokes", nil, func(r authz.Revoke) []string {
		return []string{described(r.ID, r.UserID+" "+r.Pattern+" at "+r.Scope)}
	})
}

func pendingRequestIDs(ctx context.Context, a *application) []string {
	return offered(ctx, a, "listRequests", "requests", fields{"filter": fields{"state": authz.RequestPending}}, func(r authz.Request) []string {
		return []string{described(r.ID, r.RequesterUserID+" "+requestAsks(r)+" at "+r.Scope)}
	})
}

func userIDs(ctx context.Context, a *application) []string {
	return offered(ctx, a, "listUsers", "users", nil, func(u provider.ListedUser) []string { return []string{u.UserID} })
}

func storedSubjects(ctx context.Context, a *application) []string {
	return offered(ctx, a, "listGrants", "grants", nil, func(g authz.Grant) []string { return []string{g.Subject} })
}

// subjects are those who hold something, and every group.
func subjects(ctx context.Context, a *application) []string {
	ids := append(storedSubjects(ctx, a), authz.Everyone)
	for _, id := range userIDs(ctx, a) {
		ids = append(ids, authz.SubjectOf(authz.SubjectUser, id))
	}
	for _, id := range groupIDs(ctx, a) {
		ids = append(ids, authz.SubjectOf(authz.SubjectGroup, id))
	}
	return ids
}

// patterns are the keys and groups of the published catalog.
func patterns(ctx context.Context, a *application) []string {
	var head struct {
		Published *struct {
			Document struct {
				Leaves []struct{ Key, Label string }
				Groups []struct{ Path, Label string }
			}
		}
	}
	if a.Call(ctx, "getPublishedCatalog", nil, &head) != nil || head.Published == nil {
		return nil
	}
	var ids []string
	for _, leaf := range head.Published.Document.Leaves {
		ids = append(ids, described(leaf.Key, leaf.Label))
	}
	for _, g := range head.Published.Document.Groups {
		ids = append(ids, described(authz.SubtreePattern(g.Path), g.Label))
	}
	return ids
}

// keys are the permissions of the published catalog.
func keys(ctx context.Context, a *application) []string {
	return slices.DeleteFunc(patterns(ctx, a), func(line string) bool {
		pattern, _, _ := strings.Cut(line, "\t")
		return strings.HasSuffix(pattern, "*")
	})
}

// scopes are those at which something was granted.
func scopes(ctx context.Context, a *application) []string {
	return offered(ctx, a, "listGrants", "grants", nil, func(g authz.Grant) []string { return []string{g.Scope} })
}

func catalogVersions(ctx context.Context, a *application) (ids []string) {
	_ = whole(ctx, a, "listCatalogVersions", nil, "versions", func(p catalog.Publication) error { // what came before an error is offered
		ids = append(ids, described(strconv.FormatInt(p.Version, 10), words.Instant(p.PublishedAt)))
		return nil
	})
	return ids
}
