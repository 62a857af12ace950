package orgroot_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// The rows of a person come from every home, each once and by id, in pages of any size.
// Global rows of an application that is not the root count nowhere.
func TestRowsOfAllHomesAreOneList(t *testing.T) {
	w := newWorld(t)
	w.give(t, "user:olga", "authz_internal.access.*")
	a := w.by(t, "olga")
	var grants, revokes []string
	var rows []authz.Grant // with the home for a note
	keep := func(g authz.Grant, home string) {
		g.Provenance.Note = home
		rows = append(rows, g)
	}
	put := func(app *application.Application, home, name, scope string) {
		in := provider.GrantInput{Subject: "user:u", Pattern: name + ".files.read", Scope: scope}
		if rand.IntN(2) == 0 {
			in.ExpiresAt = authz.ExpiresAt(time.Now().UnixMilli() + 1e9 + rand.Int64N(3))
		}
		g, err := app.CreateGrant(ctx, in, authz.AdminProvenance("setup"))
		must(t, err)
		v, err := app.CreateRevoke(ctx, provider.RevokeInput{UserID: "u", Pattern: in.Pattern, Scope: scope}, authz.AdminProvenance("setup"))
		must(t, err)
		if home != "" {
			grants, revokes = append(grants, g.ID+" "+home), append(revokes, v.ID+" "+home)
			keep(g, home)
		}
		_, err = app.CreateGrant(ctx, provider.GrantInput{Subject: "user:else", Pattern: in.Pattern, Scope: scope}, authz.AdminProvenance("setup"))
		must(t, err)
	}
	for i := range 40 {
		switch rand.IntN(5) {
		case 0:
			put(w.docs, "root", "docs", "*")
		case 1:
			put(w.docs, "docs", "docs", fmt.Sprintf("docs.doc:%d", i))
		case 2:
			put(w.billing, "billing", "billing", fmt.Sprintf("billing.doc:%d", i))
		case 3:
			put(w.billing, "", "billing", "*")
		case 4:
			g, _, err := w.root.CreateGrant(ctx, a, provider.GrantInput{Subject: "user:u", Pattern: "cloud.seats.read"})
			must(t, err)
			v, _, err := w.root.CreateRevoke(ctx, a, provider.RevokeInput{UserID: "u", Pattern: "cloud.billing.read"})
			must(t, err)
			grants, revokes = append(grants, g.ID+" account"), append(revokes, v.ID+" account")
			keep(g, "account")
		}
	}
	slices.Sort(grants)
	slices.Sort(revokes)
	home := func(h orgroot.Home) string {
		if h.Kind == "application" {
			return h.Application
		}
		return h.Kind
	}
	subject, user := "user:u", "u"
	listed := func(limit int, page func(ctx context.Context, p orgroot.Page) (rows []string, next string, missing []orgroot.Unavailable, err error)) (all []string, missing []orgroot.Unavailable) {
		for p := (orgroot.Page{Limit: limit}); ; {
			rows, next, unavailable, err := page(ctx, p)
			must(t, err)
			if len(rows) > limit {
				t.Errorf("a page of %d has %d", limit, len(rows))
			}
			all, missing = append(all, rows...), unavailable
			if p.After = next; next == "" {
				return all, missing
			}
		}
	}
	ofGrants := func(ctx context.Context, p orgroot.Page) (rows []string, next string, missing []orgroot.Unavailable, err error) {
		l, missing, err := w.root.GrantsEverywhere(ctx, a, authz.GrantSearch{Subject: &subject}, p)
		for _, g := range l.Rows {
			rows = append(rows, g.ID+" "+home(g.Home))
		}
		return rows, l.Next, missing, err
	}
	search := authz.GrantSearch{}
	found := func(ctx context.Context, p orgroot.Page) (rows []string, next string, missing []orgroot.Unavailable, err error) {
		l, missing, err := w.root.GrantsEverywhere(ctx, a, search, p)
		for _, g := range l.Rows {
			rows = append(rows, g.ID+" "+home(g.Home))
		}
		return rows, l.Next, missing, err
	}
	ofRevokes := func(ctx context.Context, p orgroot.Page) (rows []string, next string, missing []orgroot.Unavailable, err error) {
		l, missing, err := w.root.RevokesEverywhere(ctx, a, provider.RevokeQuery{UserID: &user}, p)
		for _, v := range l.Rows {
			rows = append(rows, v.ID+" "+home(v.Home))
		}
		return rows, l.Next, missing, err
	}
	for _, limit := range []int{1, 2, 3, 7, 100} {
		if got, missing := listed(limit, ofGrants); !slices.Equal(got, grants) || len(missing) > 0 {
			t.Errorf("by %d: %v, %v, not %v", limit, got, missing, grants)
		}
		if got, missing := listed(limit, ofRevokes); !slices.Equal(got, revokes) || len(missing) > 0 {
			t.Errorf("revokes by %d: %v, %v, not %v", limit, got, missing, revokes)
		}
	}
	middle := rows[len(rows)/2].CreatedAt
	searches := []authz.GrantSearch{{}, {Actor: new("olga")}, {Pattern: new("docs.files.read")}, {Expires: new(true)}, {CreatedFrom: &middle}, {CreatedTo: &middle, Actor: new("setup")}}
	for _, order := range []authz.GrantOrder{authz.GrantsByID, authz.GrantsNewest, authz.GrantsExpiring} {
		for _, search = range searches {
			search.Order, search.Subject = order, &subject
			var want []string
			slices.SortFunc(rows, func(a, b authz.Grant) int { return order.Compare(order.Place(&a), order.Place(&b)) })
			for _, g := range rows {
				if search.Selects(&g) {
					want = append(want, g.ID+" "+g.Provenance.Note)
				}
			}
			for _, limit := range []int{1, 3, 100} {
				if got, missing := listed(limit, found); !slices.Equal(got, want) || len(missing) > 0 {
					t.Errorf("%+v by %d: %v, %v, not %v", search, limit, got, missing, want)
				}
			}
		}
	}
	// An application that knows no searches still tells its rows by a list.
	w.older.Store(true)
	if got, missing := listed(3, ofGrants); !slices.Equal(got, grants) || len(missing) > 0 {
		t.Errorf("older: %v, %v, not %v", got, missing, grants)
	}
	search = authz.GrantSearch{Subject: &subject, Actor: new("setup")}
	if got, missing := listed(100, found); len(missing) != 1 || missing[0].Application != "billing" || len(got) == 0 {
		t.Errorf("older, searched: %v, %v", got, missing)
	}
	l, err := w.root.AppGrants(ctx, a, "billing", authz.GrantSearch{}, orgroot.Page{Limit: 100})
	must(t, err)
	if slices.ContainsFunc(l.Rows, func(g authz.Grant) bool { return g.Scope == "*" }) || l.Next != "" {
		t.Errorf("older, instances: %v", l)
	}
	w.older.Store(false)
	newer, err := w.root.AppGrants(ctx, a, "billing", authz.GrantSearch{}, orgroot.Page{Limit: 100})
	if err != nil || !slices.Equal(newer.Rows, l.Rows) {
		t.Errorf("instances: %v, %v, not %v", newer, err, l)
	}
	w.down.Store(true)
	left := slices.DeleteFunc(slices.Clone(grants), func(row string) bool { return row[len(row)-7:] == "billing" })
	got, missing := listed(100, ofGrants)
	if !slices.Equal(got, left) || len(missing) != 1 || missing[0].Application != "billing" {
		t.Errorf("without billing: %v, %v, not %v", got, missing, left)
	}
}
