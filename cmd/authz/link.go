package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/sdk/authz"
)

// linkFlag is --link of commands whose answer has a screen in the dashboard.
type linkFlag struct{ link bool }

func (l *linkFlag) addLink(c *cobra.Command, t *target, what string) {
	c.Flags().BoolVar(&l.link, "link", false, "print the address of "+what+" in the dashboard instead; it holds no secret")
	after(c, func() error {
		if l.link && t.url != "" && t.org == "" {
			return usageError{errors.New("--link needs a host that is asked over its socket, or with --org: the provider API knows no dashboard")}
		}
		return nil
	})
}

// linkedResult is what --link prints as JSON.
type linkedResult struct {
	Links []string `json:"links"`
}

// printLinks prints an address for each org, a line each.
func (l *linkFlag) printLinks(o *outputFlag, w io.Writer, screens []string, path string) error {
	links := make([]string, len(screens))
	for i, s := range screens {
		links[i] = s + path
	}
	return o.print(w, linkedResult{links}, func(w io.Writer) {
		for _, link := range links {
			fmt.Fprintln(w, link)
		}
	})
}

// screens are the addresses below which the dashboard shows what is asked about, one for
// each org that has the application; why says why there is none.
func (t *target) screens(ctx context.Context) (screens []string, why string, err error) {
	if t.org != "" {
		h, err := t.hosted(nil)
		if err != nil {
			return nil, "", err
		}
		return screensOf(ctx, h)
	}
	if t.url != "" {
		return nil, "the provider API knows none", nil
	}
	local, err := t.local()
	if err != nil {
		return nil, "", err
	}
	app, err := onlyApp(ctx, local, t.app)
	if err != nil {
		return nil, "", err
	}
	var d api.Dashboard
	if err := local.Host(ctx, "dashboard", fields{"app": app}, &d); err != nil {
		return nil, "", err
	}
	if d.URL == "" {
		return nil, "the host has no hosted service, or service.dashboard is off", nil
	}
	for _, org := range d.Orgs {
		screens = append(screens, d.URL+"/orgs/"+url.PathEscape(org))
	}
	return screens, fmt.Sprintf("no org of this host has the application: 'authz application link %s local:%s --org ORG' links it", app, app), nil
}

func screensOf(ctx context.Context, h *hostedclient.Client) (screens []string, why string, err error) {
	at, err := h.Dashboard(ctx)
	if err != nil || at == "" {
		return nil, "service.dashboard is off at " + h.URL, err
	}
	return []string{at + "/orgs/" + url.PathEscape(h.Org)}, "", nil
}

// mustScreens are screens of which there is one at least.
func (t *target) mustScreens(ctx context.Context) ([]string, error) {
	screens, why, err := t.screens(ctx)
	if err == nil && len(screens) == 0 {
		err = errors.New("there is no dashboard for it: " + why)
	}
	return screens, err
}

// linkScreens are those for --link, none without it.
func (a *admin) linkScreens(ctx context.Context) ([]string, error) {
	if !a.link {
		return nil, nil
	}
	return a.mustScreens(ctx)
}

// explainPath is the screen of an explanation below an org's.
func explainPath(p authz.Principal, key, scope string) string {
	q := url.Values{"key": {key}, "scope": {cmp.Or(scope, authz.Global)}}
	if p.ServiceID != "" {
		q.Set("service", p.ServiceID)
	} else {
		q.Set("user", p.UserID)
	}
	return "/explain?" + q.Encode()
}

// requestPath is the screen of a request; application is whose it is, "" the org's.
func requestPath(id, application string) string {
	path := "/requests/" + url.PathEscape(id)
	if application != "" {
		path += "?" + url.Values{"from": {application}}.Encode()
	}
	return path
}

// lookingForScreens is how long a denial waits for the address of its explanation.
const lookingForScreens = 2 * time.Second

// tellWhy ends a denial with where it is explained, if somewhere is. The answer stands
// without it.
func (t *target) tellWhy(ctx context.Context, w io.Writer, p authz.Principal, key, scope string) {
	ctx, cancel := context.WithTimeout(ctx, lookingForScreens)
	defer cancel()
	screens, _, err := t.screens(ctx)
	if err != nil {
		return
	}
	for _, s := range screens {
		fmt.Fprintln(w, "explained: "+s+explainPath(p, key, scope))
	}
}

// explainedAt is where a refusal by a gate of the hosted API is explained, "" if nowhere.
func explainedAt(ctx context.Context, e *hostedclient.Error) string {
	if e.Code != string(authz.ReasonForbidden) || e.By == nil || e.By.Org == "" || e.Permission == "" || e.Principal.Validate() != nil {
		return ""
	}
	screens, _, err := screensOf(ctx, e.By)
	if err != nil || len(screens) == 0 {
		return ""
	}
	return screens[0] + explainPath(e.Principal, e.Permission, e.Scope)
}
